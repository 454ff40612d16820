"""Our own sentences: how each relation is asked, stated, and written around."""

from __future__ import annotations

from dataclasses import dataclass

from record import Fact


@dataclass(frozen=True)
class Wording:
    """Templates over a fact's `subject`, `answer` and what is known `about` it.

    `contexts` do not give the answer away; one is used if all that it names is known.
    """

    questions: tuple[str, ...]
    statements: tuple[str, ...]
    contexts: tuple[str, ...]
    title: str = "{subject}"


_COUNTRY = (
    "About {population} people live in {subject}.",
    "The area of {subject} is about {area} square kilometres.",
    "{subject} is counted as part of {continent}.",
)
_PLACE = (
    "{subject} has about {population} inhabitants.",
    "{subject} lies near {position}.",
)
_AIRPORT = (
    "{subject} lies near {position}.",
    "The runway at {subject} is about {elevation} m above the sea.",
)
_ELEMENT = (
    "One mole of {subject} weighs about {weight} grams.",
    "In the periodic table, {subject} stands in the {block}-block.",
)

WORDING: dict[str, Wording] = {
    "capital": Wording(
        (
            "What is the capital of {subject}?",
            "Which city is the capital of {subject}?",
            "Name the capital city of {subject}.",
        ),
        (
            "The capital of {subject} is {answer}.",
            "{answer} serves as the capital of {subject}.",
            "Those who govern {subject} do so from its capital, {answer}.",
        ),
        _COUNTRY,
    ),
    "currency": Wording(
        (
            "What is the currency of {subject}?",
            "Which currency do people pay with in {subject}?",
            "What is legal tender in {subject}?",
        ),
        (
            "The currency of {subject} is the {answer}.",
            "Shops in {subject} set their prices in the {answer}.",
            "Legal tender in {subject} is the {answer}.",
        ),
        _COUNTRY,
    ),
    "calling_code": Wording(
        (
            "What is the international calling code of {subject}?",
            "Which country code do you dial to phone {subject}?",
            "Phone numbers in {subject} begin with which country code?",
        ),
        (
            "The international calling code of {subject} is {answer}.",
            "To phone {subject} from abroad, dial {answer} first.",
            "Phone numbers in {subject} are written with the country code {answer}.",
        ),
        _COUNTRY,
    ),
    "internet_domain": Wording(
        (
            "What is the country-code top-level domain of {subject}?",
            "Which internet domain belongs to {subject}?",
            "Web addresses of {subject} end in which country domain?",
        ),
        (
            "The country-code top-level domain of {subject} is {answer}.",
            "Web addresses registered for {subject} end in {answer}.",
            "On the internet, {answer} stands for {subject}.",
        ),
        _COUNTRY,
    ),
    "language_tag": Wording(
        (
            "What is the IETF language tag of {subject}?",
            "Which language tag (BCP 47) stands for {subject}?",
            "How is the {subject} language written as an IETF language tag?",
        ),
        (
            "The IETF language tag of {subject} is “{answer}”.",
            "Software marks text in the {subject} language with the tag “{answer}”.",
            "In BCP 47, “{answer}” stands for {subject}.",
        ),
        (
            "About {speakers} people speak the {subject} language.",
            "{subject} has its place in lists of the world's languages.",
        ),
        "{subject} (language)",
    ),
    "currency_code": Wording(
        (
            "What is the ISO 4217 code of the {subject}?",
            "Which three-letter code stands for the currency {subject}?",
            "How do banks abbreviate the {subject}?",
        ),
        (
            "The ISO 4217 code of the {subject} is {answer}.",
            "Banks write {answer} for the {subject}.",
            "In exchange-rate tables, {answer} is the {subject}.",
        ),
        (
            "Countries and territories where the {subject} is legal tender: {territories}.",
            "The {subject} is a currency in use today.",
        ),
    ),
    "city_country": Wording(
        (
            "In which country is {subject}?",
            "Which country does the town of {subject} belong to?",
            "{subject} is a place in which country?",
        ),
        (
            "{subject} is a place in {answer}.",
            "The town of {subject} belongs to {answer}.",
            "People from {subject} are at home in {answer}.",
        ),
        _PLACE,
    ),
    "us_state": Wording(
        (
            "In which US state is {subject}?",
            "Which state of the United States does {subject} belong to?",
            "{subject} is a community in which US state?",
        ),
        (
            "{subject} is a community in the US state of {answer}.",
            "The US state that {subject} belongs to is {answer}.",
            "Letters to {subject}, USA, go to the state of {answer}.",
        ),
        _PLACE,
    ),
    "airport_code": Wording(
        (
            "What is the IATA code of {subject}?",
            "Which three-letter code do airlines use for {subject}?",
            "Luggage for {subject} is tagged with which IATA code?",
        ),
        (
            "The IATA code of {subject} is {answer}.",
            "Airlines use the code {answer} for {subject}.",
            "Luggage for {subject} carries a tag that says {answer}.",
        ),
        _AIRPORT,
    ),
    "airport_country": Wording(
        (
            "In which country is the airport with the IATA code {subject}?",
            "The airport code {subject} belongs to an airport in which country?",
            "A ticket says {subject}. In which country will the plane land?",
        ),
        (
            "The airport with the IATA code {subject} is in {answer}.",
            "Planes bound for {subject} land in {answer}.",
            "{answer} is the country of the airport that airlines call {subject}.",
        ),
        _AIRPORT,
        "Airport {subject}",
    ),
    "element_symbol": Wording(
        (
            "What is the chemical symbol of {subject}?",
            "Which symbol stands for the element {subject}?",
            "How do chemists abbreviate {subject}?",
        ),
        (
            "The chemical symbol of {subject} is {answer}.",
            "Chemists write {answer} for {subject}.",
            "In a formula, {answer} stands for the element {subject}.",
        ),
        _ELEMENT,
    ),
    "element_number": Wording(
        (
            "What is the atomic number of {subject}?",
            "How many protons has an atom of {subject}?",
            "Which atomic number does the element {subject} have?",
        ),
        (
            "The atomic number of {subject} is {answer}.",
            "The nucleus of a {subject} atom holds {answer} protons.",
            "Counted by protons, {subject} is element number {answer}.",
        ),
        _ELEMENT,
    ),
    "element_group": Wording(
        (
            "In which group of the periodic table is {subject}?",
            "Which group (1 to 18) does the element {subject} belong to?",
            "What is the group of {subject} in the periodic table?",
        ),
        (
            "In the periodic table, {subject} is in {answer}.",
            "Chemists count {subject} among the elements of {answer}.",
            "The column of {subject} in the periodic table is {answer}.",
        ),
        _ELEMENT,
    ),
    "holiday_date": Wording(
        (
            "On what date is {holiday} a public holiday in {country}?",
            "When is {holiday} celebrated in {country}?",
            "On which day of the year does {country} keep {holiday}?",
        ),
        (
            "In {country}, {holiday} is on {answer} every year.",
            "{holiday} is a public holiday in {country}, kept on {answer}.",
            "Offices in {country} close on {answer} for {holiday}.",
        ),
        (
            "About {population} people live in {country}.",
            "{holiday} is a fixed date in the calendar of {country}.",
        ),
        "{holiday} ({country})",
    ),
}


def fill(template: str, fact: Fact, answer: str = "") -> str:
    """A sentence: the template with the fact in it, its first letter a capital."""
    text = template.format(subject=fact.subject, answer=answer, **fact.about)
    return text[0].upper() + text[1:]


def known_contexts(fact: Fact) -> list[str]:
    """The sentences around the fact of which every part is known."""
    missing = [name for name, value in fact.about.items() if not value]
    templates = WORDING[fact.relation].contexts
    kept = [t for t in templates if not any(f"{{{name}}}" in t for name in missing)]
    return [fill(template, fact) for template in kept]


def written_otherwise(relation: str, answer: str) -> str:
    """The same answer as others would write it, right or wrong alike, so that form tells nothing.

    >>> written_otherwise("holiday_date", "14 July"), written_otherwise("calling_code", "+33")
    ('July 14', '0033')
    """
    match relation:
        case "holiday_date":
            day, month = answer.split()
            return f"{month} {day}"
        case "calling_code":
            return answer.replace("+", "00")
        case "element_group":
            return answer.removeprefix("group ")
        case _:
            return answer
