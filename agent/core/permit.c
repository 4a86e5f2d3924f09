/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/permit.h"

static const char digits[] = "0123456789abcdef";

static char *
put_hex(char *at, uint64_t value, unsigned width)
{
	while (width-- > 0)
		*at++ = digits[value >> (4 * width) & 0xf];
	return at;
}

static unsigned
hex_width(uint64_t value)
{
	unsigned width = 1;

	while (width < 16 && value >> (4 * width) != 0)
		width++;
	return width;
}

size_t
permit_format(char text[PERMIT_TEXT_MAX], const struct permit *permit)
{
	char *at = put_hex(text, permit->epoch, 16);

	*at++ = '-';
	at = put_hex(at, permit->number, hex_width(permit->number));
	*at = '\0';
	return (size_t)(at - text);
}

static bool
read_hex(struct text t, uint64_t *value)
{
	uint64_t sum = 0;

	if (t.len == 0 || t.len > 16)
		return false;
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.at[i];

		if (c >= '0' && c <= '9')
			sum = sum << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			sum = sum << 4 | (uint64_t)(c - 'a' + 10);
		else
			return false;
	}
	*value = sum;
	return true;
}

bool
permit_parse(struct text text, struct permit *permit)
{
	struct text number = text;
	struct text epoch = text_cut(&number, '-');
	struct permit read;

	if (epoch.len != 16 || !read_hex(epoch, &read.epoch) ||
	    !read_hex(number, &read.number) || read.number == 0)
		return false;
	*permit = read;
	return true;
}
