/* Shortcuts through the tree-sitter runtime: what it looks up or counts for the general case, for the usual one.

   Included before the runtime. Results are those of the runtime; `treesitter/README.md` names what differs. */
#ifndef SLEUTH_SHORTCUTS_H
#define SLEUTH_SHORTCUTS_H

/* Trees stay in the thread that made them, so their counters need no atomic operations. */
#define TREE_SITTER_ATOMIC_H_
static inline uint32_t atomic_inc(volatile uint32_t* p) { return ++*(uint32_t*)p; }
static inline uint32_t atomic_dec(volatile uint32_t* p) { return --*(uint32_t*)p; }

/* Most states of a grammar keep their table as lists that are searched one by one. What was found there last is kept,
   per thread: programs use few of the states, again and again. */
#define ts_language_lookup ts_language_lookup_in_lists
#include "treesitter/language.h"
#undef ts_language_lookup

enum { FOUND_BITS = 12, FOUND_SLOTS = 1 << FOUND_BITS };

typedef struct {
    const TSLanguage* language;
    struct {
        uint32_t key; /* state << 16 | symbol */
        uint32_t value;
    } slots[FOUND_SLOTS];
} Lookups;

#ifdef __GLIBC__ /* others cannot load a module with this model, which saves a call */
#define THREAD_LOCAL _Thread_local __attribute__((tls_model("initial-exec")))
#else
#define THREAD_LOCAL _Thread_local
#endif

static THREAD_LOCAL Lookups* current_lookups;

/* Before a parse. State 0 is never kept in lists, so a key of 0 is free. */
static void use_lookups(Lookups* lookups, const TSLanguage* language) {
    if (lookups->language != language) {
        memset(lookups->slots, 0, sizeof lookups->slots);
        lookups->language = language;
    }
    current_lookups = lookups;
}

static inline uint16_t ts_language_lookup(const TSLanguage* language, TSStateId state, TSSymbol symbol) {
    if (state < language->large_state_count) return language->parse_table[state * language->symbol_count + symbol];
    uint32_t key = (uint32_t)state << 16 | symbol, at = key * 0x9E3779B1u >> (32 - FOUND_BITS);
    Lookups* lookups = current_lookups;
    if (lookups->slots[at].key != key) {
        lookups->slots[at].value = ts_language_lookup_in_lists(language, state, symbol);
        lookups->slots[at].key = key;
    }
    return (uint16_t)lookups->slots[at].value;
}

#endif
