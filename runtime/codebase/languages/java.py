"""Declares Java."""

from __future__ import annotations

import posixpath

from runtime.codebase.language_facts import value_queries
from runtime.codebase.language_facts.java_facts import java_facts
from runtime.codebase.language_parts.head_comments import first_block
from runtime.codebase.language_parts.idle_statements import IdleSyntax, thrown
from runtime.codebase.language_parts.language import Grammar, Language
from runtime.codebase.language_parts.repository_paths import RepositoryPaths
from runtime.codebase.language_parts.type_rules import TypeRules

_TAGS = """
(constructor_declaration name: (identifier) @name) @definition.constructor
(enum_declaration name: (identifier) @name) @definition.enum
(record_declaration name: (identifier) @name) @definition.record
(annotation_type_declaration name: (identifier) @name) @definition.interface
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @definition.field
(object_creation_expression type: (generic_type (type_identifier) @name)) @reference.class
(superclass (generic_type (type_identifier) @name)) @reference.base
(superclass (type_identifier) @name) @reference.base
(type_list (generic_type (type_identifier) @name)) @reference.base
(import_declaration (scoped_identifier) @import)
"""

_BUILTIN_METHODS = """
    accept add addAll addFirst addLast allMatch andThen anyMatch append apply applyAsInt arrayOffset available
    booleanValue byteValue call cast ceilingKey charAt chars clear clone close codePointAt collect compare compareTo
    compute computeIfAbsent computeIfPresent concat contains containsAll containsKey containsValue copyOf count
    countDown deleteCharAt distinct doubleValue element empty endsWith ensureCapacity entrySet equals
    equalsIgnoreCase exists find findAny findFirst first firstEntry firstKey flatMap flip floatValue floorKey flush
    forEach format get getActualTypeArguments getAndIncrement getAnnotation getAnnotations getBytes getCause
    getClass getClassLoader getComponentType getConstructor getConstructors getDeclaredConstructor getDeclaredField
    getDeclaredFields getDeclaredMethods getDeclaringClass getElementsByTagName getField getFields getFirst
    getGenericComponentType getGenericReturnType getGenericSuperclass getGenericType getInputStream getInstance
    getInterfaces getKey getLast getLocalizedMessage getLowerBounds getMessage getMethod getMethods getModifiers
    getName getOrDefault getOutputStream getOwnerType getPackage getParameterTypes getParent getPath getProperty
    getRawType getReturnType getSimpleName getStackTrace getSuperclass getSuppressed getTime getType getUpperBounds
    getValue group hashCode hasMoreElements hasNext ifPresent incrementAndGet indexOf initCause insert intern
    interrupt intValue invoke isAlive isArray isAssignableFrom isBlank isEmpty isInstance isInterface isPresent
    isPrimitive iterator join key keys keySet last lastIndexOf lastKey length limit lines listIterator lock
    longValue lookingAt map mapToInt mapToObj mark markSupported matcher matches max merge min name newInstance next
    nextElement nextInt nextToken noneMatch notify notifyAll of offer offerFirst offerLast openStream or ordinal
    orElse orElseGet orElseThrow parallelStream peek poll pollFirst pollLast pop previous print println
    printStackTrace push put putAll putIfAbsent read readLine readObject reduce remaining remove removeAll
    removeFirst removeIf removeLast repeat replace replaceAll replaceFirst reset retainAll reverse rewind run set
    setAccessible setCharAt setLength shortValue size skip sleep sort sorted split spliterator startsWith stream
    strip subList subMap subSequence substring sum tailMap take test toArray toByteArray toCharArray toList
    toLowerCase toPath toString toUpperCase toURI trim tryLock unlock valueOf values wait wrap write writeObject
    yield
"""

# Kotlin, Scala and Groovy work with the same types.
BUILTIN_METHODS = frozenset(_BUILTIN_METHODS.split())


def _class_file(repository: RepositoryPaths, importer: str, module: str, _name: str) -> str | None:
    """Return the file of a class, or of the class whose member is imported."""
    tail = module.replace(".", "/")
    # A class may be written in Kotlin.
    paths = (path + ending for path in (tail, posixpath.dirname(tail)) for ending in (".java", ".kt") if path)
    return next((found for path in paths if (found := repository.ending(path, importer))), None)


_ONE_ARGUMENT = (
    *(
        "List",
        "ArrayList",
        "LinkedList",
        "Set",
        "HashSet",
        "LinkedHashSet",
        "TreeSet",
        "SortedSet",
        "Collection",
        "Queue",
    ),
    *(
        "Deque",
        "ArrayDeque",
        "Iterable",
        "Iterator",
        "Stream",
        "Optional",
        "Vector",
        "Stack",
        "Supplier",
        "ThreadLocal",
    ),
    *("AtomicReference", "Future", "CompletableFuture", "Callable", "CopyOnWriteArrayList", "PriorityQueue", "[]"),
)

_TYPE_RULES = TypeRules(
    extract=java_facts,
    imports="type",
    shares_package="declared",
    sees_members=True,
    unbound_is_external=True,
    overloads=True,
    constructor="<init>",
    elements=dict.fromkeys(_ONE_ARGUMENT, 0),
    indexed={"[]": 0},
    element_methods=dict.fromkeys(
        (
            *("get()", "getFirst()", "getLast()", "peek()", "poll()", "pop()", "remove()", "next()", "element()"),
            *("orElse()", "orElseThrow()", "orElseGet()", "first()", "last()", "call()", "getValue()"),
        ),
        -1,
    ),
    collection_methods={"values()": -1, "iterator()": 0, "stream()": 0},
    opaque=frozenset({"Object"}),
    plain_bases=frozenset(
        {"Runnable", "Callable", "Comparable", "Serializable", "Cloneable", "AutoCloseable", "Closeable"}
    ),
)

_GENERAL = "Exception RuntimeException IllegalStateException IllegalArgumentException Error AssertionError Throwable"
_IDLE = IdleSyntax(
    absent=frozenset({"null"}),
    fails=thrown(r"throw\s+new", _GENERAL) + r"|throw\s+null",
    nothing_value=r"Optional\.empty\(\)|Optional\.ofNullable\(null\)|new\s+[\w.<>]+(?:\[0\])+|new\s+[\w.<>]+(?:\[\])+\s*\{\s*\}|Boolean\.FALSE"
    r"|(?:Int|Long|Double)?Stream\.empty\(\)|CompletableFuture\.completedFuture\(null\)|\(\w+\)\s*null|(?:List|Set|Map|Stream)\.of\(\)|Collections\.empty(?:List|Set|Map)\(\)",
    idle_functions=r"String\.(?:valueOf|format)|Objects\.(?:hash|hashCode|toString|equals)|Boolean\.valueOf"
    r"|Math\.(?:abs|max|min|ceil|floor|round)|[\w.]+\.(?:toString|hashCode|trim|toLowerCase|toUpperCase)",
    idle_alone=r"[\w.]+\.(?:length|isEmpty|isBlank|charAt|substring|strip|equals|getClass|contains|startsWith|endsWith)"
    r"|System\.(?:nanoTime|currentTimeMillis|identityHashCode)|Math\.\w+",
    checking_functions=r"(?:Integer|Long|Double)\.(?:parse\w+|valueOf)",
    nothing=r"new\s+Object\(\)",
    gives_way=r"Thread\.(?:yield\(\)|sleep\(\s*0L?\s*\)|onSpinWait\(\))",
)

LANGUAGES = (
    Language(
        name="java",
        ecosystem="maven",
        idle=_IDLE,
        extensions="java",
        path_kinds=(("test", r"(^|/)[^/]*(Tests?|TestCase|Spec)\.java$"),),
        code_extensions="java",
        head_files="package-info.java",
        grammar=Grammar("tree_sitter_java"),
        tags=_TAGS,
        head_doc=first_block,
        resolve_import=_class_file,
        family="jvm",
        builtin_methods=BUILTIN_METHODS,
        types=_TYPE_RULES,
        values=value_queries.JAVA,
        own_object="this",
        branch_words="switch case catch",
        failures=(r"\bthrow\b", r"\bnew \w*(?:Error|Exception)\b"),
    ),
)
