"""What a secret looks like when nobody knows its value: words before it, prefixes, frames.

Every pattern is bounded, so that the worst text of 16 KiB costs a fraction of a second, and every one also matches
what is cut off by the end of the text.
"""

from __future__ import annotations

import re
from typing import Final

MARK: Final = "[redacted]"

# Words that make the value beside them a secret. Not "session" or "key" alone: they would take counters and names.
_WORD: Final = (
    r"pass(?:word|wd|phrase|code)|passwd|pwd|secret|token|api[-_ ]?key|access[-_ ]?key|private[-_ ]?key"
    r"|(?:account|encryption|signing|shared|master|ssh|auth)[-_ ]?key|authorization|credential|cookie|session[-_ ]?id"
    r"|signature|assertion|jwt|otp(?![a-z])|(?<![a-z])pin(?![a-z])|(?<![a-z])pass(?![a-z])|(?<![a-z])sig(?![a-z])"
)
_SEPARATOR: Final = r"=>|:=|[:=]|%3[aAdD]"
_ENTRY: Final = r"\s{0,16}\\{0,15}[\"'][^\"'\\]{0,64}\\{0,15}[\"']\s{0,16}:"  # the next entry of an object
# With a quote before it a comma separates too: pairs of headers, as clients print them.
_KEYED: Final = re.compile(
    rf"(?:{_WORD})[\w.%\[\]-]{{0,64}}?(?P<closing>\\{{0,15}}[\"'])?\s{{0,16}}"
    rf"(?P<separator>(?(closing),(?!{_ENTRY})|(?!))|{_SEPARATOR})\s{{0,16}}(?:b(?=[\"'])|[|>][+-]?\s{{1,16}})?",
    re.IGNORECASE,
)
# {"name": "password", "value": …}, as lists of environment variables and recorded traffic have it.
_NAMED: Final = re.compile(
    rf"\\{{0,15}}[\"'](?:name|key)\\{{0,15}}[\"']\s{{0,16}}:\s{{0,16}}\\{{0,15}}[\"'][\w.-]{{0,64}}?(?:{_WORD})[\w.-]{{0,64}}"
    rf"\\{{0,15}}(?P<closing>[\"'])\s{{0,16}},\s{{0,16}}\\{{0,15}}[\"']value\\{{0,15}}[\"']\s{{0,16}}(?P<separator>:)\s{{0,16}}",
    re.IGNORECASE,
)
_SECRET: Final = re.compile(_WORD, re.IGNORECASE)
_OPTION: Final = re.compile(r"(?<![\w-])(?P<name>--?[\w-]{1,128})(?P<gap>[ \t]{1,16})(?!-)(?:\"[^\"]*\"?|'[^']*'?|\S+)")
_ELEMENT: Final = re.compile(r"(?P<name><[\w:.-]{1,128})(?P<gap>(?:\s[^<>]{0,256})?>(?:\s{0,16}<!\[CDATA\[)?)[^<]+")
_QUOTE: Final = re.compile(r"\\*[\"']")
_BARE_END: Final = re.compile(r"[\s&\"'<>]")
_JSON_END: Final = re.compile(r"[\s,}\]]")
_LINE_END: Final = re.compile(r"[\r\n]")
_HARMLESS: Final = re.compile(r"(?:null|none|true|false)(?=[\s,}\])&;]|\Z)", re.IGNORECASE)

_SHAPES: Final = (
    (re.compile(r"-----BEGIN[\s\S]*?(?:-----END[A-Z0-9 ]{0,64}-----|\Z)"), MARK),
    (re.compile(r"\b(Bearer)((?:\s|%20|\+){1,4})[^\s\"'<>,;&]+", re.IGNORECASE), rf"\1\2{MARK}"),
    (
        re.compile(
            r"\b(Basic|Negotiate|Digest)((?:\s|%20|\+){1,4})(?!auth|realm|credential)(?:[A-Za-z0-9+/=_-]|%[0-9A-Fa-f]{2})+",
            re.IGNORECASE,
        ),
        rf"\1\2{MARK}",
    ),
    (re.compile(r"\beyJ[\w-]{5,}(?:\.[\w=-]*){0,5}|\beyJ[\w-]*\Z"), MARK),
    (
        re.compile(
            r"\b(?:ik_|gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|sk-|[sr]k_(?:live|test)_|AIza|hv[sb]\.|npm_|pypi-|dop_v1_"
            r"|SG\.)[\w.-]+|\b(?:AKIA|ASIA)(?:[A-Za-z0-9]{4,}|[A-Za-z0-9]*\Z)"
        ),
        MARK,
    ),
    # A DSN. At the text's end it may be cut inside the password, which may have any character: all of it goes.
    (
        re.compile(
            r"(\b(?!https?:)[a-z][a-z0-9+.-]{0,20}:/{2}[^\s/:@\"'<>]{0,256}:)[^\s\"'<>]{1,512}\Z", re.IGNORECASE
        ),
        rf"\1{MARK}",
    ),
    (
        re.compile(r"(\bhttps?://[^\s/:@\"'<>]{0,256}:)(?!\d{1,5}(?:[/?#]|\Z))[^\s\"'<>]{1,512}\Z", re.IGNORECASE),
        rf"\1{MARK}",
    ),
    # Elsewhere everything between the scheme and the last @.
    (
        re.compile(
            r"(\b[a-z][a-z0-9+.-]{0,20}:/{2})(?:[^\s/:@\"'<>]{0,256}:[^\s\"'<>]{0,512}|[^\s/@\"'<>]{1,512})@",
            re.IGNORECASE,
        ),
        rf"\1{MARK}@",
    ),
)


def shapes_scrub(text: str) -> str:
    """`text` with the mark in place of everything that looks like a credential."""
    for pattern in (_NAMED, _KEYED):
        text = _values_scrub(pattern, text)
    for pattern in (_OPTION, _ELEMENT):
        text = pattern.sub(_named_secret, text)
    for pattern, instead in _SHAPES:
        text = pattern.sub(instead, text)
    return text


def _named_secret(match: re.Match[str]) -> str:
    return f"{match['name']}{match['gap']}{MARK}" if _SECRET.search(match["name"]) else match[0]


def _values_scrub(pattern: re.Pattern[str], text: str) -> str:
    """Replace the value after each match, and look on behind it."""
    pieces: list[str] = []
    at = 0
    while match := pattern.search(text, at):
        start, end, instead = _value(text, match)
        pieces += (text[at:start], instead)
        at = end
    return "".join((*pieces, text[at:]))


def _value(text: str, match: re.Match[str]) -> tuple[int, int, str]:
    """From where to where the value goes, and what stands there instead."""
    start = match.end()
    if start >= len(text) or _HARMLESS.match(text, start):
        return start, start, ""
    quoted = _QUOTE.match(text, start)
    if quoted:
        end = _quoted_end(text, quoted)[0]
        return quoted.end(), end, MARK if end > quoted.end() else ""
    if match["separator"] == ",":
        return start, start, ""
    if text[start] in "[{":
        return start, _nested_end(text, start), MARK
    ending = _BARE_END
    if match["separator"] == ":":
        ending = _JSON_END if match["closing"] else _LINE_END
    found = ending.search(text, start)
    end = found.start() if found else len(text)
    return start, end, MARK if end > start else ""


def _quoted_end(text: str, opening: re.Match[str]) -> tuple[int, int]:
    """Before and behind the quote that closes `opening`; the text's end where it was cut off.

    With `n` backslashes before it the text is JSON inside JSON: the closing quote has as many, one that is part of the
    value has more, and one with fewer ends what is outside.
    """
    slashes, quote = len(opening[0]) - 1, opening[0][-1]
    at = opening.end()
    while (at := text.find(quote, at)) >= 0:
        before = at
        while before > opening.end() and text[before - 1] == "\\":
            before -= 1
        run = at - before
        if run < slashes or run % (2 * slashes + 2) == slashes:
            return at - min(run, slashes), at + 1
        at += 1
    return len(text), len(text)


def _nested_end(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`, or the text's end."""
    depth, at = 0, start
    while at < len(text):
        char = text[at]
        if char in "\\\"'" and (quoted := _QUOTE.match(text, at)):
            at = _quoted_end(text, quoted)[1]
            continue
        depth += (char in "[{") - (char in "]}")
        at += 1
        if depth == 0:
            return at
    return len(text)
