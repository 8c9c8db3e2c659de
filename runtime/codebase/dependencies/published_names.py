"""Lists packages whose code is imported under a name that no rule of their registry tells."""

from __future__ import annotations

from collections.abc import Mapping

# The published name, as `requirement.plain` writes it → the modules that it brings.
MODULES_OF_PYPI: Mapping[str, tuple[str, ...]] = {
    "antlr4-python3-runtime": ("antlr4",),
    "apache-airflow": ("airflow",),
    "argon2-cffi": ("argon2",),
    "attrs": ("attr", "attrs"),
    "beautifulsoup4": ("bs4",),
    "biopython": ("Bio",),
    "discord-py": ("discord",),
    "django-cors-headers": ("corsheaders",),
    "django-debug-toolbar": ("debug_toolbar",),
    "django-filter": ("django_filters",),
    "djangorestframework": ("rest_framework",),
    "djangorestframework-simplejwt": ("rest_framework_simplejwt",),
    "dnspython": ("dns",),
    "faiss-cpu": ("faiss",),
    "gitpython": ("git",),
    "google-api-python-client": ("googleapiclient",),
    "grpcio": ("grpc",),
    "kafka-python": ("kafka",),
    "markdown-it-py": ("markdown_it",),
    "msgpack-python": ("msgpack",),
    "mysql-connector-python": ("mysql.connector",),
    "mysqlclient": ("MySQLdb",),
    "opencv-python": ("cv2",),
    "opencv-python-headless": ("cv2",),
    "pillow": ("PIL",),
    "protobuf": ("google.protobuf",),
    "psycopg2-binary": ("psycopg2",),
    "pycryptodome": ("Crypto",),
    "pycryptodomex": ("Cryptodome",),
    "pyjwt": ("jwt",),
    "pymupdf": ("fitz", "pymupdf"),
    "pynacl": ("nacl",),
    "pyopenssl": ("OpenSSL",),
    "pyserial": ("serial",),
    "pysocks": ("socks",),
    "pytest": ("pytest", "_pytest"),
    "python-dateutil": ("dateutil",),
    "python-docx": ("docx",),
    "python-dotenv": ("dotenv",),
    "python-gnupg": ("gnupg",),
    "python-jose": ("jose",),
    "python-json-logger": ("pythonjsonlogger",),
    "python-ldap": ("ldap",),
    "python-magic": ("magic",),
    "python-memcached": ("memcache",),
    "python-multipart": ("multipart", "python_multipart"),
    "python-slugify": ("slugify",),
    "python-telegram-bot": ("telegram",),
    "pywin32": ("win32api", "win32con", "win32file", "pywintypes", "win32com"),
    "pyyaml": ("yaml",),
    "pyzmq": ("zmq",),
    "ruamel-yaml": ("ruamel.yaml",),
    "scikit-image": ("skimage",),
    "scikit-learn": ("sklearn",),
    "setuptools": ("setuptools", "pkg_resources"),
    "websocket-client": ("websocket",),
}

# The published name → what `require` is given.
FILES_OF_RUBYGEMS: Mapping[str, tuple[str, ...]] = {
    "actionmailer": ("action_mailer",),
    "actionpack": ("action_controller", "action_dispatch", "abstract_controller"),
    "actionview": ("action_view",),
    "activejob": ("active_job",),
    "activemodel": ("active_model",),
    "activerecord": ("active_record",),
    "activesupport": ("active_support",),
    "concurrent-ruby": ("concurrent",),
    "faraday-net_http": ("faraday/net_http",),
    "railties": ("rails",),
    "rspec-core": ("rspec/core",),
    "rubyzip": ("zip",),
}

# The published name → how its namespaces begin, in lower case.
NAMESPACES_OF_COMPOSER: Mapping[str, tuple[str, ...]] = {
    "guzzlehttp/guzzle": ("guzzlehttp",),
    "laravel/framework": ("illuminate",),
    "php-amqplib/php-amqplib": ("phpamqplib",),
    "vlucas/phpdotenv": ("dotenv",),
}

# The published name, or its group → how its packages begin.
PACKAGES_OF_MAVEN: Mapping[str, tuple[str, ...]] = {
    "com.google.code.findbugs:jsr305": ("javax.annotation",),
    "com.google.guava:guava": ("com.google.common",),
    "commons-codec:commons-codec": ("org.apache.commons.codec",),
    "commons-io:commons-io": ("org.apache.commons.io",),
    "commons-lang:commons-lang": ("org.apache.commons.lang",),
    "commons-logging:commons-logging": ("org.apache.commons.logging",),
    "javax.inject:javax.inject": ("javax.inject",),
    "junit:junit": ("org.junit", "junit"),
    "log4j:log4j": ("org.apache.log4j",),
    "org.jetbrains.kotlin:kotlin-reflect": ("kotlin.reflect",),
    "org.jetbrains.kotlin:kotlin-test": ("kotlin.test",),
    "org.jetbrains.kotlin:kotlin-test-junit": ("kotlin.test",),
    "org.jetbrains.kotlinx:kotlinx-coroutines-core": ("kotlinx.coroutines",),
    "org.jetbrains.kotlinx:kotlinx-coroutines-test": ("kotlinx.coroutines.test",),
    "org.projectlombok:lombok": ("lombok",),
    "org.springframework.boot:spring-boot-starter-test": ("org.springframework.boot.test",),
}
