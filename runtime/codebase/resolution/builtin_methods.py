"""Methods that every program's strings, collections, files and threads have, by language.

A call of one of these on an object of which nothing is known is most likely a call of the language's own, also where
a single definition of the repository has that name. The lists are of names that the languages' own documentation gives
to their built-in and everyday types. Left out is what only rare types have, and what programs call things of their own
by (run, start, send).
"""

from __future__ import annotations

import functools
import io
import pathlib
import re
from collections import Counter, OrderedDict, deque
from datetime import datetime, timedelta

_RUBY = """
    all? any? append assoc at between? bytes bytesize call capitalize ceil center chars chomp chomp! chop chr clamp
    clear close closed? coerce collect collect! combination compact compact! concat count cycle default delete
    delete! delete_at delete_if detect dig div divmod downcase downcase! drop drop_while dup each each_char
    each_cons each_entry each_key each_line each_pair each_slice each_value each_with_index each_with_object empty?
    encode encoding end_with? eql? equal? even? except extend fdiv fetch fetch_values fileno fill filter filter!
    filter_map find find_all find_index first flat_map flatten flatten! flock floor flush force_encoding format
    freeze frozen? getbyte getc gets group_by gsub gsub! has_key? has_value? hash include? index inject insert
    inspect instance_of? intersect? invert is_a? join keep_if key key? keys kind_of? last lazy length lines ljust
    lock lstrip lstrip! map map! match match? max max_by member? merge merge! message min min_by minmax modulo name
    next nil? none? nonzero? object_id odd? one? open ord pack partition path pop positive? product push puts read
    read_nonblock readline readlines reduce reject reject! replace respond_to? reverse reverse! reverse_each rewind
    rindex rjust rotate round rstrip rstrip! sample scan seek select select! shift shuffle size skip slice slice!
    sort sort! sort_by sort_by! split squeeze start_with? strip strip! sub sub! succ sum swapcase sync synchronize
    take take_while tap tell then times to_a to_ary to_enum to_f to_h to_hash to_i to_json to_proc to_r to_s to_str
    to_sym tr transform_keys transform_keys! transform_values transform_values! transpose truncate uniq uniq! unlock
    unpack unshift upcase upcase! update upto valid_encoding? value? values values_at write write_nonblock zero? zip
"""

_JAVA = """
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

_KOTLIN = """
    all also any apply applyTo as asIterable asList asReversed asSequence associate associateBy associateWith async
    average awaitAll buffered byLazy capitalize checkNotNull chunked coerceAtLeast coerceAtMost coerceIn component1
    component2 containsAny copy copyTo count decapitalize distinctBy drop dropLast dropWhile elementAt
    elementAtOrNull filterIndexed filterIsInstance filterKeys filterNot filterNotNull filterTo filterValues find
    findLast firstNotNullOf firstOrNull flatten fold forEachIndexed getOrElse getOrNull getOrPut getValue groupBy
    groupingBy ifBlank ifEmpty indexOfFirst indexOfLast indices isNotBlank isNotEmpty isNullOrBlank isNullOrEmpty
    joinTo joinToString keysToMap lastOrNull lazy let linesOf mapIndexed mapKeys mapNotNull mapTo mapValues maxBy
    maxByOrNull maxOf maxOfOrNull minBy minByOrNull minOf minus minusAssign none onEach onEachIndexed orEmpty padEnd
    padStart partition plus plusAssign randomOrNull readBytes readText removePrefix removeSuffix removeSurrounding
    replaceAfter replaceBefore require requireNotNull reversed runCatching setValue shuffled single singleOrNull
    sortBy sortedBy sortedByDescending sortedDescending sortedWith substringAfter substringAfterLast substringBefore
    substringBeforeLast sumBy sumOf takeIf takeLast takeUnless takeWhile toBoolean toByteArray toDouble toFloat
    toHashSet toInt toIntOrNull toLong toLongOrNull toMap toMutableList toMutableMap toMutableSet toPair toRegex
    toSet toSortedMap toTypedArray trimEnd trimIndent trimMargin trimStart union until use useLines with withIndex
    writeText zip zipWithNext
"""

_JAVASCRIPT = """
    add addEventListener addListener all allSettled any append appendChild apply assign at attr before bind blur
    call catch charAt charCodeAt clear clone close closest codePointAt concat contains copyWithin createReadStream
    delete destroy digest end endsWith entries eventNames every fill filter finally find findIndex findLast
    findLastIndex flat flatMap flush focus forEach formatToParts from get getAll getAttribute getItem getTime
    getTimezoneOffset has hasAttribute hasOwnProperty includes indexOf insertBefore is isArray isPrototypeOf item
    join json keys lastIndexOf listenerCount listeners localeCompare log map match matchAll next normalize on once
    padEnd padStart pipe pop postMessage prepend preventDefault propertyIsEnumerable push querySelector
    querySelectorAll read readFile reduce reduceRight ref remove removeAllListeners removeAttribute removeChild
    removeEventListener removeItem removeListener repeat replace replaceAll replaceChildren reverse set setAttribute
    setEncoding setHeader setItem setTimeout shift size slice some sort splice split startsWith stopPropagation
    stringify subarray substr substring test then throw toFixed toISOString toJSON toLocaleString toLowerCase
    toPrecision toString toUpperCase trim trimEnd trimStart unbind unpipe unref unshift valueOf values warn write
    writeHead
"""

_RUST = """
    abs all and_then any append as_bool as_bytes as_deref as_mut as_path as_ref as_slice as_str as_u64 await
    binary_search borrow borrow_mut by_ref bytes ceil chain char_indices chars checked_add checked_sub chunks clear
    clone clone_from cloned cmp collect components concat contains contains_key copied copy count cycle dedup
    default deref deref_mut display drain drop elapsed ends_with entry enumerate eq err exists expect extend
    extend_from_slice extension file_name file_stem fill filter filter_map find first flat_map flatten floor flush
    fmt fold for_each from from_str from_utf8 ge get get_mut get_or_insert_with get_ref gt hash insert inspect into
    into_bytes into_inner into_iter into_string is_absolute is_dir is_empty is_err is_file is_none is_ok is_some
    iter iter_mut join keys last last_mut le len lines lock lt map map_err map_or map_or_else max max_by max_by_key
    metadata min min_by min_by_key name ne next next_back nth ok ok_or ok_or_else open or or_else or_insert
    or_insert_with parent parse partial_cmp partition path peek peekable poll pop pos position pow powf product push
    push_str read read_dir read_exact read_line read_to_end read_to_string reduce remove repeat replace reserve
    resize retain rev rfind rposition rsplit rsplit_once saturating_sub seek set set_len skip skip_while sort
    sort_by sort_by_key sort_unstable split split_at split_off split_once split_whitespace splitn sqrt starts_with
    stderr stdin stdout step_by strip_prefix strip_suffix sub_assign sum swap take take_while then then_some
    to_ascii_lowercase to_lowercase to_owned to_path_buf to_str to_string to_string_lossy to_uppercase to_vec trim
    trim_end trim_matches trim_start truncate try_from try_into try_lock unwrap unwrap_err unwrap_or
    unwrap_or_default unwrap_or_else unzip values values_mut wait windows with_capacity wrapping_add write write_all
    write_fmt write_str zip
"""

_C_SHARP = """
    Abs Add AddRange Aggregate All Any Append AppendFormat AppendLine AsReadOnly AsSpan Average Cast Clear Clone
    Close Compare CompareTo Concat ConfigureAwait Contains ContainsKey ContainsValue ContinueWith Copy CopyTo Count
    CreateInstance Delete Dequeue Dispose DisposeAsync Distinct ElementAt EndsWith Enqueue Equals Except Exists Exit
    Find FindAll FindIndex First FirstOrDefault Flush FlushAsync ForEach Get GetAwaiter GetBytes GetConstructor
    GetConstructors GetCustomAttribute GetCustomAttributes GetEnumerator GetField GetFields GetHashCode
    GetInterfaces GetMember GetMethod GetMethods GetName GetOrAdd GetProperties GetProperty GetResult GetService
    GetString GetType GetValue GroupBy IndexOf Insert Intersect IsAssignableFrom IsMatch Join Last LastIndexOf
    LastOrDefault Lock Match Matches Max Min MoveNext Next OfType OrderBy OrderByDescending PadLeft PadRight Peek
    Pop Push Range Read ReadAsync ReadLine ReadLineAsync ReadToEnd Remove RemoveAll RemoveAt RemoveRange Replace
    Reset Reverse Seek Select SelectMany SequenceEqual SetResult SetValue Single SingleOrDefault Skip SkipWhile
    Slice Sort Split StartsWith Substring Sum Take TakeWhile ThenBy ToArray ToCharArray ToDictionary ToHashSet
    ToList ToLookup ToLower ToLowerInvariant ToString ToUpper ToUpperInvariant Trim TrimEnd TrimStart TryAdd
    TryGetValue TryParse TryRemove Union Wait WaitOne Where Write WriteAsync WriteLine WriteLineAsync Zip
"""

_CPP = """
    append assign at back back_inserter begin bind c_str capacity cbegin cend clear close compare
    compare_exchange_strong compare_exchange_weak copy count crbegin crend data detach emplace emplace_back
    emplace_front empty end equal_range erase exchange fail fetch_add fetch_sub fill find find_first_of find_if
    find_last_of first flush for_each forward front full get getline good has_value hash imbue insert is_open join
    joinable length lock lower_bound make_pair make_shared make_tuple make_unique max max_size merge min move
    native_handle notify_all notify_one open owns_lock peek pop pop_back pop_front push push_back push_front put
    rbegin rdbuf rdstate read release remove rend replace reserve reset resize rfind second seekg seekp size sort
    splice starts_with str substr swap tellg tellp tie top transform try_lock unique unlock upper_bound use_count
    value value_or wait wait_for wait_until what write
"""

_GO = """
    Bytes Cap Close Copy Done Err Error Fields Flush Format Get Join Len Less Lock Next Now Peek Pop Printf Println
    Push Range Read ReadAll ReadByte ReadFrom ReadString Replace RLock RUnlock Seek Set Sleep Split Stat String Sub
    Swap Trim TryLock Unlock Unwrap Value Wait Write WriteByte WriteString WriteTo
"""

_PHP = """
    __toString append bindParam bindValue contains count current diff each end fetch fetchAll fetchColumn format get
    getCode getContents getFile getIterator getLine getMessage getPath getPathname getPrevious getTimestamp getTrace
    getTraceAsString isFile isReadable key map merge modify next offsetExists offsetGet offsetSet reset rewind
    rollBack setTimezone size slice sort sub toArray valid
"""

_LISTS = {
    "ruby": (_RUBY,),
    "java": (_JAVA,),
    "kotlin": (_JAVA, _KOTLIN),
    "scala": (_JAVA,),
    "groovy": (_JAVA,),
    "javascript": (_JAVASCRIPT,),
    "typescript": (_JAVASCRIPT,),
    "tsx": (_JAVASCRIPT,),
    "vue": (_JAVASCRIPT,),
    "rust": (_RUST,),
    "c_sharp": (_C_SHARP,),
    "c": (_CPP,),
    "cpp": (_CPP,),
    "go": (_GO,),
    "php": (_PHP,),
}

_PYTHON_TYPES = (
    *(str, bytes, list, dict, set, tuple, int, float, BaseException, deque, Counter, OrderedDict),
    *(io.StringIO, io.BufferedReader, io.TextIOWrapper, pathlib.Path, re.Pattern, re.Match, datetime, timedelta),
)


LEAST_LETTERS = 3

_BREAKS = re.compile(r"[.:>]")
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


@functools.cache
def standard_names(language: str) -> frozenset[str]:
    """Names of everyday methods of a language; none where no list is kept."""
    if language == "python":
        return frozenset(name for kind in _PYTHON_TYPES for name in dir(kind) if not name.startswith("_"))
    return frozenset(name for names in _LISTS.get(language, ()) for name in names.split())


def is_named_like(receiver: str, owner: str) -> bool:
    """Whether an object is called after a type, by the last parts of both.

    `jar` and `cookie_jar` are of `CookieJar`, `conn` is of `HTTPConnection`; `file` is not of `FileCache`.
    """
    said = _letters(_BREAKS.split(receiver.removesuffix("()"))[-1])
    kind = owner.rpartition(".")[2]
    last_word = (_WORDS.findall(kind) or [""])[-1].lower()
    if len(said) < LEAST_LETTERS or not last_word:
        return False
    return (
        said.endswith(_letters(kind))
        or _letters(kind).endswith(said)
        or (len(said) > LEAST_LETTERS and last_word.startswith(said))
    )


def _letters(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
