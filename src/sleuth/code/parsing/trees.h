/* A source into a flat syntax tree: the visible nodes in preorder, each with its span, rows, field and parent.

   The tree-sitter runtime is compiled in. Trees live in an arena that is reset after each source: nothing is freed node
   by node, and no thread shares an arena. Nothing here recurses, so no nesting overflows the C stack. */
#ifndef SLEUTH_TREES_H
#define SLEUTH_TREES_H

#include <stdint.h>

#pragma GCC visibility push(hidden) /* else every call inside the runtime goes through a table */

#include "shortcuts.h"
#include "treesitter/alloc.c"
#include "treesitter/get_changed_ranges.c"
#include "treesitter/language.c"
#include "lexing.h"
#include "treesitter/node.c"
#include "treesitter/parser.c"
#include "treesitter/point.c"
#include "treesitter/stack.c"
#include "treesitter/subtree.c"
#include "treesitter/tree_cursor.c"
#include "treesitter/tree.c"
#include "treesitter/wasm_store.c"

#pragma GCC visibility pop

#include <stdlib.h>
#include <string.h>

#define NONE 0xFFFFFFFFu

static void out_of_memory(void) {
    fprintf(stderr, "sleuth: out of memory while parsing\n");
    abort(); /* tree-sitter has no way to give up */
}

/* growing arrays */

#define VECTOR(name, type)          \
    typedef struct {                \
        type* data;                 \
        uint32_t n, room;           \
    } name;                         \
    static type* name##_push(name* v) { \
        if (v->n == v->room) {      \
            v->room = v->room ? 2 * v->room : 64; \
            v->data = realloc(v->data, v->room * sizeof(type)); \
            if (!v->data) out_of_memory(); \
        }                           \
        return &v->data[v->n++];    \
    }

/* A visible node. `stop` is one past its last descendant; `marks` are the captures that hold it, a bit each. */
typedef struct {
    uint32_t start, end, row, end_row, parent, stop, marks;
    uint16_t symbol, field;
    uint8_t named;
} FlatNode;

VECTOR(FlatNodes, FlatNode)

/* memory of one parse */

enum { BLOCK = 1 << 20, KEPT_BLOCKS = 16, HEAD = 16, KEPT_NODES = 1 << 17 };

typedef struct Block {
    struct Block* next;
    size_t size;
} Block;

typedef struct Arena {
    struct Arena* next;
    Block* used;
    Block* spare;
    uint32_t spares;
    char* at;
    char* end;
    Lookups lookups;
    FlatNodes nodes; /* of the last parse; their memory serves the next one */
} Arena;

static THREAD_LOCAL Arena* current_arena;

static char* arena_block(Arena* arena, size_t size) {
    size_t wanted = size + HEAD + 16;
    Block* block = NULL;
    if (wanted <= BLOCK && arena->spare) {
        block = arena->spare;
        arena->spare = block->next;
        arena->spares--;
    } else {
        block = malloc(wanted <= BLOCK ? BLOCK : wanted);
        if (!block) out_of_memory();
        block->size = wanted <= BLOCK ? BLOCK : wanted;
    }
    block->next = arena->used;
    arena->used = block;
    char* start = (char*)block + HEAD;
    if (block->size == BLOCK) {
        arena->at = start + size;
        arena->end = (char*)block + BLOCK;
    }
    return start;
}

static void* arena_malloc(size_t size) {
    size = ((size + 15) & ~(size_t)15) + HEAD;
    Arena* arena = current_arena;
    char* p = arena->at;
    if ((size_t)(arena->end - p) >= size) arena->at += size;
    else p = arena_block(arena, size);
    *(size_t*)p = size - HEAD;
    return p + HEAD;
}

static void* arena_calloc(size_t n, size_t size) {
    void* p = arena_malloc(n * size);
    memset(p, 0, n * size);
    return p;
}

static void* arena_realloc(void* old, size_t size) {
    if (!old) return arena_malloc(size);
    size_t* held = (size_t*)((char*)old - HEAD);
    if (*held >= size) return old;
    Arena* arena = current_arena;
    size_t wanted = (size + 15) & ~(size_t)15;
    if ((char*)old + *held == arena->at && (size_t)(arena->end - (char*)old) >= wanted) {
        arena->at = (char*)old + wanted;
        *held = wanted;
        return old;
    }
    void* p = arena_malloc(size);
    memcpy(p, old, *held);
    return p;
}

static void arena_free(void* p) { (void)p; }

static void arena_reset(Arena* arena) {
    while (arena->used) {
        Block* block = arena->used;
        arena->used = block->next;
        if (block->size == BLOCK && arena->spares < KEPT_BLOCKS) {
            block->next = arena->spare;
            arena->spare = block;
            arena->spares++;
        } else {
            free(block);
        }
    }
    arena->at = arena->end = NULL;
}

static void use_arenas(void) { ts_set_allocator(arena_malloc, arena_calloc, arena_realloc, arena_free); }

/* One level of the descent; `visible` is the nearest visible node at or above it, `own` that of this level or NONE. */
typedef struct {
    const Subtree* children;
    const TSSymbol* aliases;
    const TSFieldMapEntry *fields, *fields_end;
    Length at;
    uint32_t count, i, structural, visible, own;
    uint16_t field;
} Level;

VECTOR(Levels, Level)

static void enter(Levels* levels, const TSLanguage* language, const Subtree* subtree, Length at) {
    Level* level = Levels_push(levels);
    level->children = ts_subtree_children(*subtree);
    level->count = ts_subtree_child_count(*subtree);
    level->aliases = ts_language_alias_sequence(language, subtree->ptr->production_id);
    ts_language_field_map(language, subtree->ptr->production_id, &level->fields, &level->fields_end);
    level->at = at;
    level->i = level->structural = 0;
    level->field = 0;
    level->own = NONE;
}

static FlatNode* add_node(FlatNodes* nodes, Length start, Length end, uint32_t parent) {
    FlatNode* node = FlatNodes_push(nodes);
    *node = (FlatNode){start.bytes, end.bytes, start.extent.row, end.extent.row, parent, nodes->n, 0, 0, 0, 0};
    return node;
}

static void flatten(const TSLanguage* language, const Subtree* root, FlatNodes* nodes) {
    Levels levels = {0};
    Length start = ts_subtree_padding(*root);
    FlatNode* node = add_node(nodes, start, length_add(start, ts_subtree_size(*root)), NONE);
    node->symbol = ts_language_public_symbol(language, ts_subtree_symbol(*root));
    node->named = 1;
    if (ts_subtree_child_count(*root)) {
        enter(&levels, language, root, start);
        levels.data[0].visible = levels.data[0].own = 0;
    }
    while (levels.n) {
        Level* level = &levels.data[levels.n - 1];
        if (level->i == level->count) {
            if (level->own != NONE) nodes->data[level->own].stop = nodes->n;
            levels.n--;
            continue;
        }
        const Subtree* child = &level->children[level->i];
        if (level->i++) level->at = length_add(level->at, ts_subtree_padding(*child));
        Length at = level->at;
        level->at = length_add(at, ts_subtree_size(*child));
        TSSymbol alias = 0;
        uint16_t field = level->field;
        if (!ts_subtree_extra(*child)) {
            if (level->aliases) alias = level->aliases[level->structural];
            for (const TSFieldMapEntry* map = level->fields; map < level->fields_end; map++) {
                if (!map->inherited && map->child_index == level->structural) {
                    field = map->field_id;
                    break;
                }
            }
            level->structural++;
        }
        uint32_t visible = level->visible, own = NONE;
        if (alias || ts_subtree_visible(*child)) {
            own = nodes->n;
            node = add_node(nodes, at, level->at, visible);
            node->symbol = ts_language_public_symbol(language, alias ? alias : ts_subtree_symbol(*child));
            node->named = alias ? ts_language_symbol_metadata(language, alias).named : ts_subtree_named(*child);
            node->field = field;
            visible = own;
        }
        if (ts_subtree_child_count(*child)) {
            enter(&levels, language, child, at);
            level = &levels.data[levels.n - 1];
            level->visible = visible;
            level->own = own;
            level->field = own == NONE ? field : 0;
        }
    }
    free(levels.data);
}

/* Parses a source into nodes; whether the tree is without errors, or -1 where the grammar does not fit the runtime. */
static int parse_flat(Arena* arena, const TSLanguage* language, const char* source, uint32_t size, FlatNodes* nodes) {
    current_arena = arena;
    use_lookups(&arena->lookups, language);
    int sound = -1;
    TSParser* parser = ts_parser_new();
    if (ts_parser_set_language(parser, language)) {
        TSTree* tree = ts_parser_parse_string(parser, NULL, source, size);
        sound = !ts_node_has_error(ts_tree_root_node(tree));
        flatten(language, &tree->root, nodes);
    }
    ts_parser_delete(parser); /* scanners have memory of their own */
    arena_reset(arena);
    current_arena = NULL;
    return sound;
}

/* fields and children */

static uint32_t child_with(const FlatNodes* nodes, uint32_t i, uint16_t field) {
    if (!field || i == NONE) return NONE;
    uint32_t stop = nodes->data[i].stop;
    for (uint32_t j = i + 1; j < stop; j = nodes->data[j].stop)
        if (nodes->data[j].field == field) return j;
    return NONE;
}

#endif
