/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/engine/shape.h"

#include <event2/buffer.h>
#include <string.h>

#define MODEL "\"model\":\"stub\""
#define USAGE                                                                  \
	"\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1,"              \
	"\"total_tokens\":2}"
#define EVENT(json) "data: " json "\n\n"

/* clang-format off */
static const struct shape shapes[] = {
	{ "POST", "/v1/chat/completions", true, false,
	  "{\"id\":\"chatcmpl-stub\",\"object\":\"chat.completion\","
	  "\"created\":0," MODEL ",\"choices\":[{\"index\":0,\"message\":"
	  "{\"role\":\"assistant\",\"content\":\"",
	  "\"},\"finish_reason\":\"stop\"}]," USAGE "}",
	  EVENT("{\"id\":\"chatcmpl-stub\",\"object\":\"chat.completion.chunk\","
		"\"created\":0," MODEL ",\"choices\":[{\"index\":0,\"delta\":"
		"{\"content\":\"" SHAPE_WORD "\"},\"finish_reason\":null}]}") },
	{ "POST", "/v1/completions", true, false,
	  "{\"id\":\"cmpl-stub\",\"object\":\"text_completion\","
	  "\"created\":0," MODEL ",\"choices\":[{\"index\":0,\"text\":\"",
	  "\",\"finish_reason\":\"stop\"}]," USAGE "}",
	  EVENT("{\"id\":\"cmpl-stub\",\"object\":\"text_completion\","
		"\"created\":0," MODEL ",\"choices\":[{\"index\":0,\"text\":"
		"\"" SHAPE_WORD "\",\"finish_reason\":null}]}") },
	{ "POST", "/v1/embeddings", true, false,
	  "{\"object\":\"list\",\"data\":[{\"object\":\"embedding\","
	  "\"index\":0,\"embedding\":[0.25,0.5]}]," MODEL ",\"note\":\"",
	  "\"," USAGE "}",
	  EVENT("{\"object\":\"embedding\",\"index\":0}") },
	{ "POST", "/v1/rerank", true, false,
	  "{\"id\":\"rerank-stub\"," MODEL ",\"results\":[{\"index\":0,"
	  "\"relevance_score\":0.5,\"document\":{\"text\":\"",
	  "\"}}]}",
	  EVENT("{\"index\":0,\"relevance_score\":0.5}") },
	{ "POST", "/v1/messages", true, false,
	  "{\"id\":\"msg_stub\",\"type\":\"message\",\"role\":\"assistant\","
	  MODEL ",\"content\":[{\"type\":\"text\",\"text\":\"",
	  "\"}],\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":1,"
	  "\"output_tokens\":1}}",
	  EVENT("{\"type\":\"content_block_delta\",\"index\":0,\"delta\":"
		"{\"type\":\"text_delta\",\"text\":\"" SHAPE_WORD "\"}}") },
	{ "POST", "/v1/responses", true, false,
	  "{\"id\":\"resp_stub\",\"object\":\"response\",\"status\":"
	  "\"completed\"," MODEL ",\"output\":[{\"type\":\"message\",\"role\":"
	  "\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"",
	  "\"}]}]}",
	  EVENT("{\"type\":\"response.output_text.delta\",\"delta\":\""
		SHAPE_WORD "\"}") },
	{ "POST", "/generate", true, false,
	  "{\"text\":\"", "\"}", EVENT("{\"text\":\"" SHAPE_WORD "\"}") },
	{ "POST", "/generate_stream", true, true,
	  "{\"text\":\"", "\"}", EVENT("{\"text\":\"" SHAPE_WORD "\"}") },
	{ "GET", "/v1/models", false, false,
	  "{\"object\":\"list\",\"data\":[{\"id\":\"stub\",\"object\":\"model\","
	  "\"created\":0,\"owned_by\":\"", "\"}]}", EVENT("{}") },
	{ "GET", "/health", false, false,
	  "{\"status\":\"ok\",\"note\":\"", "\"}", EVENT("{}") },
};
/* clang-format on */

static bool
at(const struct shape *shape, const char *method, const char *path, size_t len)
{
	/* HEAD asks what GET would get. */
	if (strcmp(method, "HEAD") == 0)
		method = "GET";
	return strcmp(shape->method, method) == 0 &&
	       strlen(shape->path) == len &&
	       memcmp(shape->path, path, len) == 0;
}

const struct shape *
shape_find(const char *method, const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		if (at(&shapes[i], method, path, len))
			return &shapes[i];
	}
	return NULL;
}

void
shape_whole(const struct shape *shape, uint32_t words, struct evbuffer *out)
{
	evbuffer_add(out, shape->before, strlen(shape->before));
	for (uint32_t i = 0; i < words; i++)
		evbuffer_add(out, SHAPE_WORD, sizeof(SHAPE_WORD) - 1);
	evbuffer_add(out, shape->after, strlen(shape->after));
}
