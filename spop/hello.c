/* SPDX-License-Identifier: Apache-2.0 */
#include "spop/hello.h"

#include "spop/error.h"
#include "spop/frame.h"
#include "spop/pair.h"
#include "spop/writer.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

enum item {
	SUPPORTED_VERSIONS,
	VERSION,
	MAX_FRAME_SIZE,
	CAPABILITIES,
	HEALTHCHECK,
	ENGINE_ID,
	STATUS_CODE,
	MESSAGE,
	ITEMS,
};

static const char *const names[ITEMS] = {
	[SUPPORTED_VERSIONS] = "supported-versions",
	[VERSION] = "version",
	[MAX_FRAME_SIZE] = "max-frame-size",
	[CAPABILITIES] = "capabilities",
	[HEALTHCHECK] = "healthcheck",
	[ENGINE_ID] = "engine-id",
	[STATUS_CODE] = "status-code",
	[MESSAGE] = "message",
};

static const struct capability {
	unsigned bit;
	const char *name;
} capabilities[] = {
	{ SPOP_CAPABILITY_FRAGMENTATION, "fragmentation" },
	{ SPOP_CAPABILITY_PIPELINING, "pipelining" },
	{ SPOP_CAPABILITY_ASYNC, "async" },
};

/* ITEMS for a name we do not know. */
static enum item
find_item(struct spop_text name)
{
	unsigned i = 0;

	while (i < ITEMS && !spop_text_is(name, names[i]))
		i++;
	return (enum item)i;
}

/* An item that the list lacks is left as SPOP_NULL. */
static int
read_items(struct spop_bytes list, struct spop_value items[ITEMS])
{
	struct spop_pair pair;
	int used;

	for (unsigned i = 0; i < ITEMS; i++)
		items[i] = (struct spop_value){ .type = SPOP_NULL };

	while ((used = spop_pair_next(&list, &pair)) > 0) {
		enum item item = find_item(pair.name);

		if (item != ITEMS)
			items[item] = pair.value;
	}
	return used;
}

/* All three return 0, SPOP_EINVAL for another type, or missing for none. */
static int
read_text(const struct spop_value *item, int missing, struct spop_text *text)
{
	if (item->type == SPOP_NULL)
		return missing;
	return spop_value_to_text(item, text) ? 0 : SPOP_EINVAL;
}

static int
read_int(const struct spop_value *item, int missing, int64_t *number)
{
	if (item->type == SPOP_NULL)
		return missing;
	return spop_value_to_int(item, number) ? 0 : SPOP_EINVAL;
}

static int
read_bool(const struct spop_value *item, int missing, bool *boolean)
{
	if (item->type == SPOP_NULL)
		return missing;
	return spop_value_to_bool(item, boolean) ? 0 : SPOP_EINVAL;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct spop_text
trim(struct spop_text text)
{
	while (text.len > 0 && is_blank(text.at[0])) {
		text.at++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.at[text.len - 1]))
		text.len--;
	return text;
}

/* Cuts the first word off a list that is not empty. */
static struct spop_text
next_word(struct spop_text *list)
{
	struct spop_text word = { list->at, 0 };
	size_t taken;

	while (word.len < list->len && list->at[word.len] != ',')
		word.len++;
	taken = word.len < list->len ? word.len + 1 : word.len;
	list->at += taken;
	list->len -= taken;
	return trim(word);
}

/* Whoever has a minor version of 2 has 2.0 as well (SPOE.txt 3.2.4). */
static bool
includes_ours(struct spop_text version)
{
	if (version.len < 3 || version.at[0] != '2' || version.at[1] != '.')
		return false;
	for (size_t i = 2; i < version.len; i++)
		if (version.at[i] < '0' || version.at[i] > '9')
			return false;
	return true;
}

static bool
lists_ours(struct spop_text versions)
{
	while (versions.len > 0)
		if (includes_ours(next_word(&versions)))
			return true;
	return false;
}

static unsigned
read_capabilities(struct spop_text list)
{
	unsigned all = 0;

	while (list.len > 0) {
		struct spop_text word = next_word(&list);

		for (unsigned i = 0; i < ARRAY_LEN(capabilities); i++)
			if (spop_text_is(word, capabilities[i].name))
				all |= capabilities[i].bit;
	}
	return all;
}

/* What both kinds of HELLO have. */
static int
read_common(const struct spop_value items[ITEMS], struct spop_hello *hello)
{
	struct spop_text list;
	int64_t size;
	int rc;

	rc = read_int(&items[MAX_FRAME_SIZE], SPOP_ENOSIZE, &size);
	if (rc != 0)
		return rc;
	if (size < SPOP_FRAME_SIZE_MIN || size > SPOP_FRAME_SIZE_MAX)
		return SPOP_ESIZE;
	rc = read_text(&items[CAPABILITIES], SPOP_ENOCAPABILITIES, &list);
	if (rc != 0)
		return rc;

	hello->max_frame_size = (uint32_t)size;
	hello->capabilities = read_capabilities(list);
	return 0;
}

int
spop_hello_decode_haproxy(struct spop_bytes payload, struct spop_hello *hello)
{
	struct spop_value items[ITEMS];
	struct spop_hello h = { 0 };
	struct spop_text versions;
	int rc = read_items(payload, items);

	if (rc == 0)
		rc = read_text(&items[SUPPORTED_VERSIONS], SPOP_ENOVERSION,
			       &versions);
	if (rc == 0 && !lists_ours(versions))
		rc = SPOP_EVERSION;
	if (rc == 0)
		rc = read_common(items, &h);
	if (rc == 0)
		rc = read_bool(&items[HEALTHCHECK], 0, &h.healthcheck);
	if (rc == 0)
		rc = read_text(&items[ENGINE_ID], 0, &h.engine_id);
	if (rc == 0)
		*hello = h;
	return rc;
}

int
spop_hello_decode_agent(struct spop_bytes payload, struct spop_hello *hello)
{
	struct spop_value items[ITEMS];
	struct spop_hello h = { 0 };
	struct spop_text version;
	int rc = read_items(payload, items);

	if (rc == 0)
		rc = read_text(&items[VERSION], SPOP_ENOVERSION, &version);
	if (rc == 0 && !spop_text_is(trim(version), SPOP_VERSION))
		rc = SPOP_EVERSION;
	if (rc == 0)
		rc = read_common(items, &h);
	if (rc == 0)
		*hello = h;
	return rc;
}

int
spop_disconnect_decode(struct spop_bytes payload,
		       struct spop_disconnect *disconnect)
{
	struct spop_value items[ITEMS];
	struct spop_text message;
	int64_t status;
	int rc = read_items(payload, items);

	if (rc == 0)
		rc = read_int(&items[STATUS_CODE], SPOP_EINVAL, &status);
	if (rc == 0 && (status < 0 || status > UINT32_MAX))
		rc = SPOP_EINVAL;
	if (rc == 0)
		rc = read_text(&items[MESSAGE], SPOP_EINVAL, &message);
	if (rc == 0)
		*disconnect =
			(struct spop_disconnect){ (uint32_t)status, message };
	return rc;
}

static void
put_text(struct spop_writer *w, enum item item, struct spop_text text)
{
	spop_pair_encode(w, names[item], spop_value_text(text));
}

static void
put_uint32(struct spop_writer *w, enum item item, uint32_t number)
{
	struct spop_value value = { .type = SPOP_UINT32, .natural = number };

	spop_pair_encode(w, names[item], value);
}

/* Room for all of them and the commas between. */
#define CAPABILITIES_MAX 32

static void
put_capabilities(struct spop_writer *w, unsigned bits)
{
	uint8_t buf[CAPABILITIES_MAX];
	struct spop_writer list;

	spop_writer_init(&list, buf, sizeof(buf));
	for (unsigned i = 0; i < ARRAY_LEN(capabilities); i++) {
		struct spop_text name = spop_text_of(capabilities[i].name);

		if ((bits & capabilities[i].bit) == 0)
			continue;
		if (list.len > 0)
			spop_writer_put_byte(&list, ',');
		spop_writer_put(&list, name.at, name.len);
	}
	put_text(w, CAPABILITIES,
		 (struct spop_text){ (const char *)buf, list.len });
}

void
spop_hello_encode_haproxy(struct spop_writer *w, const struct spop_hello *hello)
{
	put_text(w, SUPPORTED_VERSIONS, spop_text_of(SPOP_VERSION));
	put_uint32(w, MAX_FRAME_SIZE, hello->max_frame_size);
	put_capabilities(w, hello->capabilities);
	if (hello->healthcheck)
		spop_pair_encode(w, names[HEALTHCHECK], spop_value_bool(true));
	if (hello->engine_id.len > 0)
		put_text(w, ENGINE_ID, hello->engine_id);
}

void
spop_hello_encode_agent(struct spop_writer *w, const struct spop_hello *hello)
{
	put_text(w, VERSION, spop_text_of(SPOP_VERSION));
	put_uint32(w, MAX_FRAME_SIZE, hello->max_frame_size);
	put_capabilities(w, hello->capabilities);
}

void
spop_disconnect_encode(struct spop_writer *w,
		       const struct spop_disconnect *disconnect)
{
	put_uint32(w, STATUS_CODE, disconnect->status);
	put_text(w, MESSAGE, disconnect->message);
}
