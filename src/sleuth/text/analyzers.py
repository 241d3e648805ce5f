"""Analyzers: which tokens a text holds, and where.

An analyzer cuts a text at ASCII separators into runs, and expands each distinct run into tokens: that is all that the
indexing kernel and the slow path share, so they cannot disagree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from functools import cache, cached_property, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple

from sleuth.errors import ArgumentError
from sleuth.text import words
from sleuth.text.compounds import Compounds, byte_kinds, hyphen_compounds, run_pattern
from sleuth.text.languages import LANGUAGES, LANGUAGES_VERSION, LanguageRules
from sleuth.text.runs import ALL_PARTS, FIRST_PART, WITHOUT_CLITICS, cut_run, cut_runs, has_unspaced
from sleuth.text.stemming import Stemming, snowball
from sleuth.text.stopwords import ENGLISH, LUCENE, stop_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sleuth.text.tokens import TermCounter

Span = tuple[int, int, str]
"""Start and end in the text, in characters, half open, and the token."""

MAX_TOKEN = 100
"""Longer tokens are encoded data, not words, and are left out."""

_REMEMBERED = 1 << 14
"""Most runs whose tokens are cached between calls of `tokens` and `spans`; then the cache is emptied."""
_SHARED = 1 << 16
"""Most identifiers whose tokens the counters of an analyzer share; then the cache is emptied."""
_MOST_KNOWN = 1 << 18
"""Most runs that spare counters of all analyzers know, at some 130 bytes each; then those counters are dropped."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"


class WordRule(NamedTuple):
    """How a word of ASCII letters and digits, in small letters, becomes a token. For one thread: stemmers keep state.

    Attributes:
        stop: words that have no token.
        stem: of such a word only.
        fold: replaces characters of a stem beyond ASCII.
    """

    stop: frozenset[str]
    stem: Callable[[str], str]
    fold: Callable[[str], str]


class Analyzer:
    """Turns a text into tokens. Immutable; safe to share between threads.

    Attributes:
        name: what `get_analyzer` knows it by.
    """

    def __init__(
        self,
        name: str,
        version: int,
        *,
        extra: str = "",
        keep_case: bool = False,
        find: Callable[[str], list[Span]],
        cut: Callable[[str], list[str] | None] | None = None,
        finish: Stemming | None = None,
        stop: frozenset[str] = frozenset(),
        particles: frozenset[str] | None = None,
    ) -> None:
        """Build an analyzer from its parts.

        Args:
            name: for people and files.
            version: raise it when tokens change.
            extra: ASCII characters besides letters and digits that belong to a run.
            keep_case: leave ASCII capitals to `find`.
            find: the tokens of one run, with their places in it; called once per distinct run.
            cut: what `find` finds in an ASCII run, without the places, for indexing; None where only `find` tells.
            finish: the last step (stemming), over all tokens at once; keeps length and order.
            stop: tokens, before `finish`, that are left out.
            particles: single letters that make no compounds (`sleuth.text.compounds`); None where nothing does.
        """
        self.name = name
        self._version = version
        # Said by the separators: a range up to the last character takes a hundred times as long to compile.
        separators = "".join(c for c in map(chr, range(128)) if not (c.isalnum() or c in extra))
        self.run = re.compile(f"[^{re.escape(separators)}]+")
        self.reads_language = particles is not None
        if particles is not None:
            self.run = re.compile(run_pattern(separators))
            compounds = Compounds(find, stop, particles, self.run)
            find = compounds.find
        self._extra = extra
        self._keep_case = keep_case
        self._find = find
        self._cut = cut
        self._finish = finish
        self._stop = stop
        self._known: dict[str, tuple[str, ...]] = {}
        self._known_spans: dict[str, tuple[Span, ...]] = {}
        self._shared: dict[str, str | tuple[str, ...]] = {}

    def __repr__(self) -> str:
        return f"Analyzer({self.fingerprint!r})"

    @cached_property
    def fingerprint(self) -> str:
        """Changes whenever tokens do; an index made with another one is rebuilt."""
        return f"{self.name}/{self._version}{snowball() if isinstance(self._finish, Stemming) else ''}"

    def tokens_of(self, runs: Iterable[str]) -> list[str]:
        """Return the tokens of runs of a text in order."""
        cache = self._known
        tokens_of_runs: list[str] = []
        for run in runs:
            tokens = cache.get(run)
            tokens_of_runs += self._tokenize_run(run) if tokens is None else tokens
        return tokens_of_runs

    def tokens_of_each(self, runs: list[str]) -> list[tuple[str, ...]]:
        """Return the tokens of each run in small letters; all are stemmed together, and not cached."""
        return [(tokens,) if isinstance(tokens, str) else tokens for tokens in self._expand(runs)]

    def word_rule(self) -> WordRule | None:
        """Return the steps that turn a word of ASCII letters and digits into a token, for callers that do it in bulk.

        They are only for this thread, whose stemmer they hold. None for analyzers that keep case.
        """
        if self._keep_case:
            return None
        if self._finish is None:
            return WordRule(self._stop, str, str)
        return WordRule(self._stop, self._finish.stem_ascii(), self._finish.fold)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens of `text` in order."""
        return self.tokens_of(self.run.findall(text))

    def words_of_each(self, texts: Iterable[str]) -> list[list[str]]:
        """Return the tokens of each text without compounds of two words, which say nothing that the words do not."""
        return [self.tokens_of(chain.from_iterable(map(str.split, self.run.findall(text)))) for text in texts]

    def spans(self, text: str) -> list[Span]:
        """Return the tokens with their places: `text[start:end]` is what the token was made of. Places may overlap."""
        cache = self._known_spans
        spans: list[Span] = []
        for match in self.run.finditer(text):
            base, run = match.start(), match[0]
            cached_places = cache.get(run)
            places = self._learn_spans(run) if cached_places is None else cached_places
            for start, end, token in places:
                spans.append((base + start, base + end, token))
        return spans

    def unheld(self, text: str, held_tokens: Container[str]) -> list[str]:
        """Return the words of a text whose token is not among those that are held, in order, without compounds.

        A stretch of a script without spaces is one word, of which no pair is held.
        """
        places: dict[tuple[int, int], bool] = {}
        begin, last_end = 0, 0
        for start, end, token in self.spans(text):
            goes_on = start < last_end and has_unspaced(text[start:end])
            was_held = goes_on and places.pop((begin, last_end))
            begin, last_end = begin if goes_on else start, end
            places[begin, last_end] = was_held or token in held_tokens
        words = (text[start:end] for (start, end), is_held in places.items() if not is_held)
        return [word for word in words if len(word.split()) == 1]

    def counter(self) -> TermCounter:
        """Return a counter of this analyzer's tokens over many texts, which has counted nothing yet."""
        from sleuth.text.tokens import TermCounter

        spare = _spare_counters.pop(self, None)
        if spare is not None:
            return spare
        expand = self._expand_once if self._cut is _cut_identifier else self._expand
        kinds = byte_kinds() if self.reads_language else bytes(256)
        return TermCounter(self._fold, expand, self._prepare, kinds)

    def recycle(self, counter: TermCounter) -> None:
        """Take back a counter of this analyzer: the next one starts with the tokens of the runs that it has seen."""
        counter.restart()
        terms_kept = sum(
            spare.known for analyzer, spare in [*_spare_counters.items()] if analyzer is not self
        )
        if terms_kept + counter.known > _MOST_KNOWN:
            _spare_counters.clear()
        elif counter.known:
            _spare_counters[self] = counter

    def hold(self, sources: list[list[str]], phrase: list[str]) -> NDArray[np.bool_]:
        """Return which rows have a text that holds the tokens of a phrase in order, shape (n,): `TermCounter.hold`."""
        counter = self.counter()
        is_held = counter.hold(sources, phrase)
        self.recycle(counter)
        return is_held

    @cached_property
    def _fold(self) -> bytes:
        """What each byte of UTF-8 becomes in a run; 0 separates."""
        table = bytearray(256)
        table[128:] = range(128, 256)
        for char in _LETTERS + _LETTERS.upper() + _DIGITS + self._extra:
            table[ord(char)] = ord(char if self._keep_case else char.lower())
        return bytes(table)

    def _tokenize_run(self, run: str) -> tuple[str, ...]:
        """Return the tokens of one run of a text, and cache them."""
        (tokens,) = self.tokens_of_each([run if self._keep_case else _lower(run)])
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known[run] = tokens
        return tokens

    def _learn_spans(self, run: str) -> tuple[Span, ...]:
        """Return the tokens of one run with their places in it, and remember them."""
        stop, candidates = self._stop, self._find(run if self._keep_case else _lower(run))
        places = [(a, b, word) for a, b, word in candidates if len(word) <= MAX_TOKEN and word not in stop]
        tokens = [token for _, _, token in places]
        if self._finish:
            tokens = self._finish(tokens)
        spans = tuple((start, end, token) for (start, end, _), token in zip(places, tokens, strict=True))
        if len(self._known_spans) >= _REMEMBERED:
            self._known_spans.clear()
        if len(run) <= MAX_TOKEN:
            self._known_spans[run] = spans
        return spans

    def _expand_once(self, runs: list[str]) -> list[str | tuple[str, ...]]:
        """`_expand`, remembered: several fields and batches of one repository hold the same identifiers."""
        cache = self._shared
        if len(cache) + len(runs) > _SHARED:
            cache = self._shared = {}
        try:
            return list(map(cache.__getitem__, runs))
        except KeyError:
            new_runs = [run for run in runs if run not in cache]
            cache.update(zip(new_runs, self._expand(new_runs), strict=True))
            return list(map(cache.__getitem__, runs))

    def _expand(self, runs: list[str]) -> list[str | tuple[str, ...]]:
        """Return the tokens of each run: a str for one token, a tuple for any other number."""
        tokens, counts = cut_runs(runs, self._stop, MAX_TOKEN, not self._keep_case, self._cut, self._find)
        stems = iter(self._finish(tokens) if self._finish else tokens)
        return [next(stems) if count == 1 else tuple(islice(stems, count)) for count in counts]

    def _prepare(self, text: str) -> str:
        """Cut long runs of unspaced scripts beforehand, so that runs stay words. The tokens stay the same."""
        if not has_unspaced(text):
            return text
        return self.run.sub(lambda run: run[0] if run[0].isascii() else words.spaced(run[0]), text)


_CAPITALS = {ord(c): c.lower() for c in _LETTERS.upper()}


def readings(word: str, analyzers: Iterable[Analyzer]) -> set[str]:
    """Return the tokens of a word by the rules of several languages; "" stands for those whose stop word it is."""
    return {token for analyzer in analyzers for token in analyzer.tokens(word) or [""]}


def _lower(run: str) -> str:
    """ASCII capitals lowered; other letters are folded later, with their marks, and lengths stay."""
    return run.lower() if run.isascii() else run.translate(_CAPITALS)


def _find_words(run: str) -> list[Span]:
    """Return an ASCII run whole, and the pieces of any other run."""
    return [(0, len(run), run)] if run.isascii() else words.pieces(run)


def _find_names(run: str) -> list[Span]:
    """Names as they are written; folded only where they are not ASCII."""
    return [
        (start, end, run[start:end] if run[start:end].isascii() else token)
        for start, end, token in _find_words(run)
    ]


_CLITIC = re.compile(r"(?:n't|'(?:s|ll|re|ve|d|m))$")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_WITH_UMLAUT = frozenset("äöü")


def _find_english(run: str) -> list[Span]:
    """Find words without accents and clitics: "don't" is "do", "dog's" is "dog"; other apostrophes cut a word.

    A word with umlauts is also found as it is written without them: "Müller" is "muller" and "mueller".
    """
    spans: list[Span] = []
    for start, end, token in _parts(run):
        if "'" in token:
            spans += _apostrophes(words.without_accents(token), start, end)
        else:
            spans += [(start, end, form) for form in _english_forms(token)]
    return spans + hyphen_compounds(run, words.without_accents) if "-" in run else spans


def _english_forms(word: str) -> list[str]:
    """Return a folded word without accents; and one with umlauts as it is written without them."""
    plain = words.without_accents(word)
    if plain == word or _WITH_UMLAUT.isdisjoint(word):
        return [plain]
    spelled = words.without_accents(word.translate(_UMLAUTS))
    return [plain] if spelled == plain else [plain, spelled]


def _parts(run: str) -> list[Span]:
    """Return the words between the hyphens of an ASCII run, and the pieces of any other run."""
    if not run.isascii():
        return words.pieces(run, apostrophes=True)
    return [(m.start(), m.end(), m[0]) for m in re.finditer("[^-]+", run)]


def _apostrophes(word: str, start: int, end: int) -> list[Span]:
    bare = word.strip("'")
    base = start + len(word) - len(word.lstrip("'"))
    parts = re.finditer("[^']+", _CLITIC.sub("", bare))
    if len(word) != end - start:  # folding has changed its length: the parts share the place
        return [(start, end, m[0]) for m in parts]
    return [(base + m.start(), base + m.end(), m[0]) for m in parts]


def _find_language(language: LanguageRules, run: str) -> list[Span]:
    """Find the words of a language, folded for its stemmer; an apostrophe cuts a word."""
    spans: list[Span] = []
    for start, end, token in _parts(run):
        folded = language.before(token)
        if "'" not in folded:
            spans.append((start, end, folded))
        elif not language.keeps_suffix:
            spans += [(start, end, part) for part in folded.split("'")[:1] if part]
        elif len(folded) != end - start:
            spans += [(start, end, part) for part in folded.split("'") if part]
        else:
            spans += [(start + m.start(), start + m.end(), m[0]) for m in re.finditer("[^']+", folded)]
    return spans + hyphen_compounds(run, language.before) if "-" in run else spans


_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _find_code(run: str) -> list[Span]:
    """Find an identifier and its parts: "getHTTPResponse_2" also gives get, http, response and 2."""
    if run.isascii():
        return _identifier(run, 0)
    spans: list[Span] = []
    for start, end, token in words.pieces(run):
        name = run[start:end]
        spans += _identifier(name, start) if name.isascii() else _accented(name, start, token)
    return spans


def _identifier(name: str, base: int) -> list[Span]:
    bare = name.strip("_")
    if not bare:
        return []
    base += len(name) - len(name.lstrip("_"))
    full_name = (base, base + len(bare), bare.lower())
    parts = [(base + m.start(), base + m.end(), m[0].lower()) for m in _PART.finditer(bare)]
    return [full_name] if len(parts) == 1 else [full_name, *parts]


def _cut_identifier(run: str) -> list[str]:
    """Return the tokens of `_identifier`, without places."""
    bare = run.strip("_")
    parts = _PART.findall(bare)
    if len(parts) == 1:
        return [bare.lower()]
    return [bare.lower(), *[part.lower() for part in parts]] if parts else []


def _accented(name: str, base: int, token: str) -> list[Span]:
    """Find an identifier with letters beyond ASCII: whole, and its parts between underscores."""
    core = token.strip("_")
    parts = [(base + m.start(), base + m.end(), words.fold(m[0])) for m in re.finditer("[^_]+", name)]
    spans = [(base, base + len(name), core)] if core else []
    return spans + parts if len(parts) > 1 else spans


_spare_counters: dict[Analyzer, TermCounter] = {}
_stem = Stemming("english")
_ANALYZERS = {
    analyzer.name: analyzer
    for analyzer in (
        Analyzer("code", 1, extra="_", keep_case=True, find=_find_code, cut=_cut_identifier),
        Analyzer(
            "code-english",
            1,
            extra="_",
            keep_case=True,
            find=_find_code,
            cut=_cut_identifier,
            finish=_stem,
            stop=LUCENE,
        ),
        Analyzer(
            "english",
            6,
            extra="'-",
            find=_find_english,
            cut=partial(cut_run, WITHOUT_CLITICS),
            finish=_stem,
            stop=ENGLISH,
            particles=frozenset(),
        ),
        Analyzer("names", 1, extra="_", keep_case=True, find=_find_names, cut=lambda run: [run]),
        Analyzer("plain", 1, extra="_", find=_find_words, cut=lambda run: [run]),
    )
}


_LANGUAGES = {language.analyzer: language for language in LANGUAGES.values()}


def get_analyzer(name: str) -> Analyzer:
    """Return the built-in analyzer of that name.

    `english` stems (Snowball), drops accents, clitics and stop words; `german`, `french` and so on do the same for
    other languages (`sleuth.text.languages`); `plain` keeps words as they are written, folded (NFKC, casefold);
    `code` keeps identifiers whole and adds their parts, `code-english` stems those and drops stop words; `names` keeps
    identifiers exactly as they are written.

    Raises:
        ArgumentError: there is no such analyzer.
    """
    analyzer = _ANALYZERS.get(name)
    if analyzer is not None:
        return analyzer
    if not isinstance(name, str) or name not in _LANGUAGES:
        names = ", ".join([*_ANALYZERS, *sorted(_LANGUAGES)])
        raise ArgumentError(f"analyzer must be one of {names}, got {name!r}")
    return _language_analyzer(name)


def analyzer_of(language: object, name: str) -> Analyzer:
    """Return the analyzer of a language, by its code; that of the name for a language without one of its own."""
    rules = LANGUAGES.get(str(language))
    return get_analyzer(rules.analyzer if rules else name)


@cache
def _language_analyzer(name: str) -> Analyzer:
    """Return the analyzer built from a language's rules; its stop words are folded as its words are.

    One-letter stop words make no compounds.
    """
    language = _LANGUAGES[name]
    stop = frozenset(map(language.before, stop_words(language.code)))
    return Analyzer(
        name,
        LANGUAGES_VERSION,
        extra="'-",
        find=partial(_find_language, language),
        cut=partial(cut_run, ALL_PARTS if language.keeps_suffix else FIRST_PART),
        finish=Stemming(language.stemmer, language.after),
        stop=stop,
        particles=frozenset(word for word in stop if len(word) == 1),
    )
