# SPDX-License-Identifier: Apache-2.0
"""HPACK (RFC 7541): header lists of HTTP/2, to and from bytes.

We send literals and nothing else, which every peer must take. What comes back
may use all of it: both tables, size changes and Huffman strings.
"""

# RFC 7541, appendix A.
STATIC = (
    (":authority", ""), (":method", "GET"), (":method", "POST"), (":path", "/"),
    (":path", "/index.html"), (":scheme", "http"), (":scheme", "https"),
    (":status", "200"), (":status", "204"), (":status", "206"),
    (":status", "304"), (":status", "400"), (":status", "404"),
    (":status", "500"), ("accept-charset", ""),
    ("accept-encoding", "gzip, deflate"), ("accept-language", ""),
    ("accept-ranges", ""), ("accept", ""), ("access-control-allow-origin", ""),
    ("age", ""), ("allow", ""), ("authorization", ""), ("cache-control", ""),
    ("content-disposition", ""), ("content-encoding", ""),
    ("content-language", ""), ("content-length", ""), ("content-location", ""),
    ("content-range", ""), ("content-type", ""), ("cookie", ""), ("date", ""),
    ("etag", ""), ("expect", ""), ("expires", ""), ("from", ""), ("host", ""),
    ("if-match", ""), ("if-modified-since", ""), ("if-none-match", ""),
    ("if-range", ""), ("if-unmodified-since", ""), ("last-modified", ""),
    ("link", ""), ("location", ""), ("max-forwards", ""),
    ("proxy-authenticate", ""), ("proxy-authorization", ""), ("range", ""),
    ("referer", ""), ("refresh", ""), ("retry-after", ""), ("server", ""),
    ("set-cookie", ""), ("strict-transport-security", ""),
    ("transfer-encoding", ""), ("user-agent", ""), ("vary", ""), ("via", ""),
    ("www-authenticate", ""),
)

# RFC 7541, appendix B, by the length of the code. The code is canonical, so
# that the lengths say it all: codes of one length count up with the symbols.
EOS = 256
HUFFMAN_LENGTHS = {
    5: (*b"012aceiost",),
    6: (*b" %-./3456789=A_bdfghlmnpru",),
    7: (*b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",),
    8: (*b"&*,;XZ",),
    10: (*b'!"()?',),
    11: (*b"'+|",),
    12: (*b"#>",),
    13: (0, *b"$@[]~"),
    14: (*b"^}",),
    15: (*b"<`{",),
    19: (92, 195, 208),
    20: (128, 130, 131, 162, 184, 194, 224, 226),
    21: (153, 161, 167, 172, 176, 177, 179, 209, 216, 217, 227, 229, 230),
    22: (129, 132, 133, 134, 136, 146, 154, 156, 160, 163, 164, 169, 170, 173,
         178, 181, 185, 186, 187, 189, 190, 196, 198, 228, 232, 233),
    23: (1, 135, 137, 138, 139, 140, 141, 143, 147, 149, 150, 151, 152, 155,
         157, 158, 165, 166, 168, 174, 175, 180, 182, 183, 188, 191, 197, 231,
         239),
    24: (9, 142, 144, 145, 148, 159, 171, 206, 215, 225, 236, 237),
    25: (199, 207, 234, 235),
    26: (192, 193, 200, 201, 202, 205, 210, 213, 218, 219, 238, 240, 242, 243,
         255),
    27: (203, 204, 211, 212, 214, 221, 222, 223, 241, 244, 245, 246, 247, 248,
         250, 251, 252, 253, 254),
    28: (*range(2, 9), 11, 12, *range(14, 22), *range(23, 32), 127, 220, 249),
    30: (10, 13, 22, EOS),
}


class HpackError(Exception):
    """The bytes are no header block."""


def _huffman_codes():
    """Each code, as (length, bits), and its symbol."""
    codes, code, before = {}, 0, 0
    for length, symbols in HUFFMAN_LENGTHS.items():
        code <<= length - before
        for symbol in symbols:
            codes[length, code] = symbol
            code += 1
        before = length
    return codes


HUFFMAN = _huffman_codes()


def huffman_decode(data):
    out, length, code = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            length, code = length + 1, code << 1 | byte >> shift & 1
            symbol = HUFFMAN.get((length, code))
            if symbol is None:
                continue
            if symbol == EOS:
                raise HpackError("EOS in a string")
            out.append(symbol)
            length = code = 0
    # What is left over is the beginning of EOS: at most seven ones.
    if length > 7 or code != (1 << length) - 1:
        raise HpackError("wrong padding")
    return bytes(out)


def encode_integer(value, bits, first=0):
    limit = (1 << bits) - 1
    if value < limit:
        return bytes([first | value])
    out, value = bytearray([first | limit]), value - limit
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode(headers):
    """A header block of literals, none of them Huffman, none of them kept."""
    out = bytearray()
    for name, value in headers:
        out.append(0)
        for text in (name, value):
            data = text.encode("latin-1")
            out += encode_integer(len(data), 7) + data
    return bytes(out)


class Decoder:
    """One direction of one connection: it remembers what it has seen."""

    def __init__(self, allowed=4096):
        self.allowed = self.limit = allowed
        self.table = []  # the newest first
        self.size = 0

    def decode(self, block):
        """The list of (name, value) of one header block."""
        self._block, self._at = block, 0
        headers = []
        while self._at < len(block):
            first = block[self._at]
            if first & 0x80:
                headers.append(self._entry(self._integer(7)))
            elif first & 0x40:
                headers.append(self._literal(6))
                self._remember(headers[-1])
            elif first & 0x20:
                self._resize(self._integer(5))
            else:
                headers.append(self._literal(4))
        return headers

    def _byte(self):
        if self._at >= len(self._block):
            raise HpackError("the block ends too early")
        self._at += 1
        return self._block[self._at - 1]

    def _integer(self, bits):
        value = self._byte() & (1 << bits) - 1
        if value < (1 << bits) - 1:
            return value
        for shift in range(0, 35, 7):
            byte = self._byte()
            value += (byte & 127) << shift
            if byte < 128:
                return value
        raise HpackError("an integer without end")

    def _string(self):
        if self._at >= len(self._block):
            raise HpackError("the block ends too early")
        packed = self._block[self._at] & 0x80
        length = self._integer(7)
        data = self._block[self._at:self._at + length]
        if len(data) < length:
            raise HpackError("the block ends too early")
        self._at += length
        return (huffman_decode(data) if packed else data).decode("latin-1")

    def _literal(self, bits):
        index = self._integer(bits)
        name = self._entry(index)[0] if index else self._string()
        return name, self._string()

    def _entry(self, index):
        if 0 < index <= len(STATIC):
            return STATIC[index - 1]
        index -= len(STATIC) + 1
        if not 0 <= index < len(self.table):
            raise HpackError("no such entry")
        return self.table[index]

    def _remember(self, header):
        self.table.insert(0, header)
        self.size += self._weight(header)
        self._shrink()

    def _resize(self, limit):
        if limit > self.allowed:
            raise HpackError("a larger table than allowed")
        self.limit = limit
        self._shrink()

    def _shrink(self):
        while self.size > self.limit:
            self.size -= self._weight(self.table.pop())

    @staticmethod
    def _weight(header):
        return len(header[0]) + len(header[1]) + 32
