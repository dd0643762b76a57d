// No exception may cross into Swift: without this macro simdjson has none to throw.
#define SIMDJSON_EXCEPTIONS 0
#include "CSimdJSON.h"
#include <new>
#include <simdjson.h>

struct CSimdJSON_parser {
    explicit CSimdJSON_parser(size_t capacity) noexcept : dom(capacity) {}
    simdjson::dom::parser dom;
};

CSimdJSON_parser *CSimdJSON_new(size_t capacity, size_t depth) {
    auto parser = new (std::nothrow) CSimdJSON_parser(capacity);
    if (parser && parser->dom.allocate(0, depth) != simdjson::SUCCESS) {
        delete parser;
        return nullptr;
    }
    return parser;
}

void CSimdJSON_free(CSimdJSON_parser *parser) { delete parser; }

int CSimdJSON_parse(CSimdJSON_parser *parser, const uint8_t *bytes, size_t count) {
    return parser->dom.parse(bytes, count, true).error();
}

const uint64_t *CSimdJSON_tape(const CSimdJSON_parser *parser) { return parser->dom.doc.tape.get(); }

const uint8_t *CSimdJSON_strings(const CSimdJSON_parser *parser) { return parser->dom.doc.string_buf.get(); }

const char *CSimdJSON_message(int code) {
    return simdjson::error_message(static_cast<simdjson::error_code>(code));
}
