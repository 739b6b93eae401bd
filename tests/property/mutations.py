"""Ways to spoil bytes that were well-formed."""

from __future__ import annotations

import random


def spoil(well_formed: bytes, generator: random.Random) -> bytes:
    """Change something: a bit, a byte, what may be a length, the end, or a piece in the middle."""
    spoilt = bytearray(well_formed)
    position = generator.randrange(len(spoilt) + 1)
    match generator.randrange(7):
        case 0:
            del spoilt[position:]
        case 1:
            spoilt += generator.randbytes(generator.randrange(1, 9))
        case 2:
            spoilt[position:position] = generator.randbytes(generator.randrange(1, 9))
        case 3:
            del spoilt[position : position + generator.randrange(1, 9)]
        case 4:
            lengths = (
                b"\x7f\xff\xff\xff",
                b"\xff\xff\xff\xff",
                b"\x80\0\0\0",
                b"\xff\xff\xff\xff\x07",
                b"\x7f\xff",
            )
            length = generator.choice(lengths)
            spoilt[position : position + len(length)] = length
        case 5 if position < len(spoilt):
            spoilt[position] ^= 1 << generator.randrange(8)
        case _:
            spoilt[position : position + 1] = generator.randbytes(1)
    return bytes(spoilt)
