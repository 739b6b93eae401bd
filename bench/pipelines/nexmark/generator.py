"""Events of an auction: who comes, what is offered, who bids. Pure, from a seed.

Events come in the order of their times, a fixed number a second of their own clock. Bids go to auctions that
are open, rather to some than to others. All are JSON objects in one form, of which each kind fills its part.
"""

import random
from collections.abc import Iterator

ROUND = 50
PERSONS_PER_ROUND, AUCTIONS_PER_ROUND = 1, 3
EVENTS_PER_SECOND = 10_000
BEGINS_MS = 1_700_000_000_000
CLOSES_MS = BEGINS_MS + 86_400_000
OPEN_MS = 5_000
"""How long an auction is open on average."""
CATEGORIES = range(10, 20)
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "Boise", "Portland", "Redmond", "Cheyenne")
NAMES = ("Ada", "Bob", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana")
CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
OPEN_MAX = 100
HOT = 5

SCHEMA = (
    "kind string, at long, id long, name string, city string, state string, item string, category int, "
    "seller long, expires long, auction long, bidder long, price long, channel string"
)


def events(seed: int, count: int) -> Iterator[bytes]:
    """Give so many events, then one of each kind far in the future, which end all windows."""
    chance = random.Random(seed)
    persons = 0
    auctions = 0
    for number in range(count):
        at = BEGINS_MS + number * 1000 // EVENTS_PER_SECOND
        place = number % ROUND
        if place < PERSONS_PER_ROUND:
            yield person(persons, chance.choice(NAMES), chance.randrange(len(STATES)), at)
            persons += 1
        elif place < PERSONS_PER_ROUND + AUCTIONS_PER_ROUND:
            seller = max(0, persons - 1 - int(chance.expovariate(0.1)))
            expires = at + 1 + int(chance.expovariate(1 / OPEN_MS))
            yield auction(auctions, chance.choice(CATEGORIES), seller, at, expires)
            auctions += 1
        else:
            span = HOT if chance.random() < 0.5 else OPEN_MAX
            target = max(0, auctions - 1 - chance.randrange(span))
            price = int(100 * 10 ** (chance.random() * 4))
            yield bid(target, chance.randrange(max(1, persons)), price, chance.choice(CHANNELS), at)
    yield person(-1, "-", 0, CLOSES_MS)
    yield auction(-1, 0, -1, CLOSES_MS, CLOSES_MS + 1)
    yield bid(-1, -1, 0, "-", CLOSES_MS)


def person(number: int, name: str, place: int, at: int) -> bytes:
    """Give somebody who comes."""
    return (
        f'{{"kind":"person","at":{at},"id":{number},"name":"{name}","city":"{CITIES[place]}",'
        f'"state":"{STATES[place]}"}}'
    ).encode()


def auction(number: int, category: int, seller: int, at: int, expires: int) -> bytes:
    """Give something that is offered."""
    return (
        f'{{"kind":"auction","at":{at},"id":{number},"item":"item {number}","category":{category},'
        f'"seller":{seller},"expires":{expires}}}'
    ).encode()


def bid(target: int, bidder: int, price: int, channel: str, at: int) -> bytes:
    """Give a bid."""
    return (
        f'{{"kind":"bid","at":{at},"auction":{target},"bidder":{bidder},"price":{price},"channel":"{channel}"}}'
    ).encode()
