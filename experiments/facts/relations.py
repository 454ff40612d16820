"""The relations: for each, the facts that hold, the near misses, and what is left out as unclear."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from heapq import nsmallest
from typing import Any

from packages import (
    Country,
    airports,
    all_places,
    cities,
    countries,
    elements,
    english,
    fixed_holidays,
    rounded,
    speakers,
    us_states,
)
from record import Fact, fold, normal

# More than one capital, a seat of government elsewhere, a move under way, a disputed one, or one
# that was renamed lately.
_UNCLEAR_CAPITAL = "BI BJ BO CI CL GQ ID IL KI KZ LK ME MY NL NR SZ TZ YE ZA"
# First-level divisions (and, with *, whole countries) whose towns two states claim.
_DISPUTED = """
AZ.* CY.* GE.02 GE.51 IL.* IN.12 IN.41 MD.58 PK.06 PK.07 SO.* UA.05 UA.08 UA.11 UA.14 UA.20 UA.26
"""
_MONTHS = "January February March April May June July August September October November December"
# Holidays that half the world keeps on one date ask nothing about a country.
_COMMON_HOLIDAY = (
    "Christmas,New Year,Lab,Worker,May Day,Boxing,Saint,All ,Assumption,Epiphany,Immaculate,"
    "Second Day,Women,Armistice,Mother,Father,Dormition,Easter,Nativity,Stephen,("
)

_DISTRACTORS = 4


def _unique(wrong: Iterable[str], right: Iterable[str]) -> list[str]:
    """The first few that are neither right nor repeated, as answers are compared."""
    taken = {normal(text) for text in right}
    kept = []
    for text in wrong:
        if normal(text) and normal(text) not in taken:
            taken.add(normal(text))
            kept.append(text)
    return kept[:_DISTRACTORS]


def _states() -> list[Country]:
    return [country for country in countries().values() if country.sovereign]


def _near(country: Country) -> list[Country]:
    """Sovereign neighbours, the largest first; then others of the continent, the nearest in size."""
    everyone = {other.code: other for other in _states() if other.code != country.code}
    next_door = [everyone[code] for code in country.neighbours if code in everyone]
    next_door.sort(key=lambda other: (-other.population, other.code))
    size = math.log(country.population + 1)
    around = sorted(
        (o for o in everyone.values() if o.continent == country.continent and o not in next_door),
        key=lambda other: (abs(math.log(other.population + 1) - size), other.code),
    )
    return next_door + around


def capital() -> Iterator[Fact]:
    by_country = defaultdict(list)
    for city in cities():
        by_country[city["countrycode"]].append(city)
    for country in _states():
        names = {normal(country.capital), normal(country.other_capital)}
        if country.code in _UNCLEAR_CAPITAL.split():
            continue
        seat = next((c for c in by_country[country.code] if normal(c["name"]) in names), None)
        if len(names) > 1 and country.code not in ("AG", "MM", "US"):
            continue  # the two sources disagree
        known_as = seat["alternatenames"] if seat else []
        large = [c["name"] for c in by_country[country.code] if c is not seat][:2]
        next_door = [other.capital for other in _near(country)[:3]]
        aliases = _unique([country.other_capital, fold(country.capital)], [country.capital])
        wrong = [name for pair in zip(large, next_door, strict=False) for name in pair] + next_door
        # "Delhi" for New Delhi is not clearly wrong.
        wrong = [n for n in wrong if normal(n) not in normal(country.capital)]
        yield Fact(
            "capital",
            country.name,
            country.capital,
            _unique(wrong, [country.capital, *aliases, *known_as]),
            country.population,
            [country.other_capital] if country.other_capital != country.capital else [],
            country.about(),
        )


def currency() -> Iterator[Fact]:
    names = english().currencies
    for country in _states():
        if country.currencies != (country.other_currency,):
            continue  # several tenders, or the two sources disagree
        (code,) = country.currencies
        near = [other.currencies[0] for other in _near(country) if len(other.currencies) == 1]
        wrong = [names[other] for other in near if other != code]
        yield Fact(
            "currency",
            country.name,
            names[code],
            _unique(wrong, [names[code]]),
            country.population,
            [code],
            country.about(),
        )


def calling_code() -> Iterator[Fact]:
    for country in countries().values():
        code = country.calling_code
        # Codes of several countries are told apart by further digits, which some count in.
        shared = sum(other.calling_code == code for other in countries().values()) > 1
        if not code or (shared and country.code not in ("US", "RU")) or country.code == "VA":
            continue
        near = [other.calling_code for other in _near(country) if other.calling_code]
        wrong = [f"+{other}" for other in (near[0], code + 1, near[1], code - 1) if other]
        yield Fact(
            "calling_code",
            country.name,
            f"+{code}",
            _unique(wrong, [str(code)]),
            country.population,
            [f"00{code}"],
            country.about(),
        )


def internet_domain() -> Iterator[Fact]:
    inhabited = [country for country in countries().values() if country.population > 0]
    tlds = sorted(country.tld for country in inhabited if country.tld)
    for country in inhabited:
        if not country.tld or country.code in ("BL", "MF", "BQ", "EH", "SJ", "UM"):
            continue  # none of its own in use
        letters = fold(country.bare)
        close = sorted(
            (tld for tld in tlds if tld[1] == letters[0] and tld != country.tld),
            key=lambda tld: (tld[2] not in letters, tld),
        )
        yield Fact(
            "internet_domain",
            country.name,
            country.tld,
            _unique([*close, *(other.tld for other in _near(country))], [country.tld]),
            country.population,
            [],
            country.about(),
        )


def language_tag() -> Iterator[Fact]:
    names = {
        tag: name
        for tag, name in english().languages.items()
        if tag.isalpha() and len(tag) <= 3 and "(" not in name and normal(tag)
        and tag not in ("mul", "und", "zxx", "mis")
    }  # fmt: skip
    doubled = {name for name, count in Counter(names.values()).items() if count > 1}
    for tag, name in sorted(names.items()):
        if name in doubled or "language" in name.lower():
            continue
        close = sorted(
            (other for other in names if other != tag and other[0] in (tag[0], fold(name)[0])),
            key=lambda other: (-_shared_start(other, fold(name)), len(other) != len(tag), other),
        )
        count = speakers().get(tag, 0.0)
        about = {"speakers": rounded(count) if count >= 1000 else ""}
        yield Fact("language_tag", name, tag, _unique(close, [tag]), count, [], about)


def _shared_start(a: str, b: str) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def currency_code() -> Iterator[Fact]:
    used: dict[str, list[Country]] = defaultdict(list)
    for country in countries().values():
        for code in country.currencies:
            used[code].append(country)
    for code, places in sorted(used.items()):
        close = sorted(
            (other for other in used if other != code),
            key=lambda other: (-_shared_start(other, code), other[2] != code[2], other),
        )
        yield Fact(
            "currency_code",
            english().currencies[code],
            code,
            _unique(close, [code]),
            float(sum(place.population for place in places)),
            [],
            {"territories": str(len(places))},
        )


def _disputed(city: dict[str, Any]) -> bool:
    country = city["countrycode"]
    claimed = (f"{country}.*", f"{country}.{city['admin1code']}")
    return any(place in _DISPUTED.split() for place in claimed)


def city_country() -> Iterator[Fact]:
    where = defaultdict(set)
    for name, code, _ in all_places():
        where[fold(name)].add(code)
    states = {country.code: country for country in _states()}
    for city in cities():
        country = states.get(city["countrycode"])
        if country is None or _disputed(city) or where[fold(city["name"])] != {country.code}:
            continue
        if normal(country.bare) in normal(city["name"]):
            continue  # the name says it
        yield Fact(
            "city_country",
            city["name"],
            country.bare,
            _unique((o.bare for o in _near(country)), [country.bare, *country.aliases]),
            city["population"],
            _unique(country.aliases, [country.bare]),
            _about_place(city, city["population"]),
        )


def us_state() -> Iterator[Fact]:
    where = defaultdict(set)
    for name, code, division in all_places():
        if code == "US":
            where[fold(name)].add(division)
    american = [city for city in cities() if city["countrycode"] == "US"]
    for city in american:
        own = city["admin1code"]
        if own not in _us_states() or where[fold(city["name"])] != {own}:
            continue
        state = _us_states()[own]
        if normal(state) in normal(city["name"]):
            continue
        near = nsmallest(80, american, key=lambda other: _distance(city, other))
        wrong = [_us_states()[o["admin1code"]] for o in near if o["admin1code"] in _us_states()]
        yield Fact(
            "us_state",
            city["name"],
            state,
            _unique(wrong, [state]),
            city["population"],
            [own],
            _about_place(city, city["population"]),
        )


def _us_states() -> dict[str, str]:
    return {code: name for code, name in us_states().items() if code != "DC"}


def _distance(a: dict[str, Any], b: dict[str, Any]) -> float:
    """Degrees, east-west shrunk by latitude: enough to say what is near."""
    north = a["latitude"] - b["latitude"]
    east = (a["longitude"] - b["longitude"] + 180) % 360 - 180
    return math.hypot(north, east * math.cos(math.radians(a["latitude"])))


def _about_place(place: dict[str, Any], population: int) -> dict[str, str]:
    return {
        "population": rounded(population),
        "position": _position(place["latitude"], place["longitude"]),
    }


def _position(latitude: float, longitude: float) -> str:
    north = f"{abs(latitude):.1f}° {'N' if latitude >= 0 else 'S'}"
    return f"{north}, {abs(longitude):.1f}° {'E' if longitude >= 0 else 'W'}"


def _airport_facts() -> Iterator[tuple[dict[str, Any], float, dict[str, str]]]:
    population: dict[tuple[str, str], int] = {}
    for city in reversed(cities()):
        population[fold(city["name"]), city["countrycode"]] = city["population"]
    names = Counter(fold(airport["name"]) for airport in airports())
    for airport in airports():
        if names[fold(airport["name"])] > 1 or len(airport["iata"]) != 3:
            continue
        people = population.get((fold(airport["city"]), airport["country"]), 0)
        about = {
            # The package writes an unknown elevation as zero.
            "elevation": f"{round(airport['elevation'] * 0.3048):,}"
            if airport["elevation"]
            else "",
            "position": _position(airport["lat"], airport["lon"]),
        }
        yield airport, float(people), about


def airport_code() -> Iterator[Fact]:
    every = [{**a, "latitude": a["lat"], "longitude": a["lon"]} for a in airports()]
    by_code = {airport["iata"]: airport for airport in every}
    for airport, people, about in _airport_facts():
        # Even places: the odd ones are asked about their country, so no airport is asked twice.
        code, place = airport["iata"], by_code[airport["iata"]]
        if sum(map(ord, code)) % 2 or code.lower() in fold(airport["name"]) or not normal(code):
            continue
        near = nsmallest(3, every, key=lambda other: _distance(place, other))[1:]
        alike = [o["iata"] for o in every if o["iata"][:2] == code[:2] and o["iata"] != code]
        wrong = [
            pick for pair in zip((o["iata"] for o in near), alike, strict=False) for pick in pair
        ]
        yield Fact("airport_code", airport["name"], code, _unique(wrong, [code]), people, [], about)


def airport_country() -> Iterator[Fact]:
    states = {country.code: country for country in _states()}
    for airport, people, about in _airport_facts():
        country = states.get(airport["country"])
        if country is None or sum(map(ord, airport["iata"])) % 2 == 0:
            continue
        if f"{country.code}.*" in _DISPUTED.split() or country.code == "UA":
            continue
        yield Fact(
            "airport_country",
            airport["iata"],
            country.bare,
            _unique((o.bare for o in _near(country)), [country.bare, *country.aliases]),
            people,
            _unique(country.aliases, [country.bare]),
            about,
        )


def _age(element: dict[str, Any]) -> float:
    """Years known; elements without a year have been known since antiquity."""
    return float(2026 - element["year"]) if element["year"] is not None else 5000.0


def _about_element(element: dict[str, Any]) -> dict[str, str]:
    return {"weight": f"{element['weight']:.4g}", "block": element["block"]}


def element_symbol() -> Iterator[Fact]:
    symbols = [element["symbol"] for element in elements()]
    for element in elements():
        name, own = fold(element["name"]), element["symbol"]
        close = sorted(
            (s for s in symbols if s[0].lower() in (own[0].lower(), name[0])),
            key=lambda s: (-_shared_start(s.lower(), name), s),
        )
        if len(_unique(close, [own])) < 2:
            close += symbols[max(0, element["number"] - 3) : element["number"] + 2]
        yield Fact(
            "element_symbol",
            name,
            own,
            _unique(close, [own]),
            _age(element),
            [],
            _about_element(element),
        )


def element_number() -> Iterator[Fact]:
    for element in elements():
        number = element["number"]
        wrong = [n for n in (number + 1, number - 1, number + 2, number - 2, number + 3) if n > 0]
        yield Fact(
            "element_number",
            fold(element["name"]),
            str(number),
            _unique(map(str, wrong), [str(number)]),
            _age(element),
            [],
            _about_element(element),
        )


def element_group() -> Iterator[Fact]:
    for element in elements():
        group = element["group"]
        # The f-block has no agreed group, and hydrogen and helium are argued about.
        if group is None or element["block"] == "f" or element["number"] <= 2 or group == 3:
            continue
        wrong = [n for n in (group + 1, group - 1, group + 2, group - 2) if 1 <= n <= 18]
        yield Fact(
            "element_group",
            fold(element["name"]),
            f"group {group}",
            _unique((f"group {n}" for n in wrong), [f"group {group}"]),
            _age(element),
            [str(group)],
            _about_element(element),
        )


def holiday_date() -> Iterator[Fact]:
    common = _COMMON_HOLIDAY.split(",")
    kept = {
        country.code: {
            name: day
            for name, day in fixed_holidays(country.code).items()
            if not any(part in name for part in common)
        }
        for country in _states()
    }
    for country in _states():
        for name, (month, day) in kept[country.code].items():
            if any(name != o and (name in o or o in name) for o in kept[country.code]):
                continue  # "National Day" beside "National Day of Mourning"
            right = [_written(month, day), f"{_MONTHS.split()[month - 1]} {day}"]
            here = [d for other, d in kept[country.code].items() if other != name]
            there = [kept[o.code][name] for o in _near(country) if name in kept[o.code]]
            shifted = [(month, day + 1 if day < 28 else day - 1), (month % 12 + 1, min(day, 28))]
            order = [*there[:1], shifted[0], *here[:1], shifted[1], *here[1:]]
            yield Fact(
                "holiday_date",
                f"{name} in {country.name}",
                right[0],
                _unique((_written(*d) for d in order), right),
                country.population,
                right[1:],
                {**country.about(), "holiday": name, "country": country.name},
            )


def _written(month: int, day: int) -> str:
    return f"{day} {_MONTHS.split()[month - 1]}"


RELATIONS: dict[str, tuple[Callable[[], Iterable[Fact]], int]] = {
    "capital": (capital, 200),
    "currency": (currency, 200),
    "calling_code": (calling_code, 190),
    "internet_domain": (internet_domain, 160),
    "language_tag": (language_tag, 240),
    "currency_code": (currency_code, 150),
    "city_country": (city_country, 330),
    "us_state": (us_state, 270),
    "airport_code": (airport_code, 240),
    "airport_country": (airport_country, 220),
    "element_symbol": (element_symbol, 118),
    "element_number": (element_number, 118),
    "element_group": (element_group, 118),
    "holiday_date": (holiday_date, 260),
}
"""Each relation, and at most how many of its facts are taken."""
