#pragma once
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// simdjson's DOM parser. It keeps the memory of its largest document.
typedef struct CSimdJSON_parser CSimdJSON_parser;

/// NULL if memory is short. Longer documents than `capacity` and deeper ones than `depth` are refused.
CSimdJSON_parser *CSimdJSON_new(size_t capacity, size_t depth);
void CSimdJSON_free(CSimdJSON_parser *parser);

/// 0, or simdjson's error code. The bytes are copied, so they need no padding.
int CSimdJSON_parse(CSimdJSON_parser *parser, const uint8_t *bytes, size_t count);

/// What the last successful parse left: simdjson's tape and its string buffer (doc/tape.md), until the next parse.
const uint64_t *CSimdJSON_tape(const CSimdJSON_parser *parser);
const uint8_t *CSimdJSON_strings(const CSimdJSON_parser *parser);

/// What an error code means; static text.
const char *CSimdJSON_message(int code);

#ifdef __cplusplus
}
#endif
