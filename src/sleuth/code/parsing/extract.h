/* Definitions of a flat tree whose nodes are marked, and the tables of all that is found in it. */
#ifndef SLEUTH_EXTRACT_H
#define SLEUTH_EXTRACT_H

#include "matches.h"

/* What a capture means, by its bit: those of `sleuth.code.queries.CAPTURES`, in that order. */
enum { NAME, DOC, IMPORT, BASE_REF, NEW_REF, CALL_REF, NAME_REF, FIRST_DEF };
enum { CLASS, INTERFACE, STRUCT, ENUM, TRAIT, IMPL, MODULE, FUNCTION, METHOD, PROPERTY, MACRO, CONSTANT, ATTRIBUTE, TYPE };
#define WEAK(kind) ((kind) >= CONSTANT)
#define HOLDS_MEMBERS(kind) ((kind) <= MODULE)

/* What a symbol of the grammar is, as bits. */
enum { WRAPPER = 1, BESIDE_WRAPPED = 2, IN_PARTS = 4, C_FUNCTION = 8, COMPANION = 16, REFERENCE_TO = 32, CALL = 64, TAG = 128,
       OPERATOR = 256, TO_THE_END = 512, WHOLE_NAME = 1024 };

/* What to do with a used name that is not plain: its parts are known, or its whole text is to be cut. */
enum { PLAIN, ODD_PARTS, ODD_TEXT };

typedef struct {
    uint16_t name, type, declarator, body, value, right, method, object, receiver, scope;
} Fields;

typedef struct {
    const TSLanguage* language;
    Program program;
    Fields fields;
    const uint16_t* facts; /* by symbol */
    char comment;         /* the first byte of what opens a line comment */
    int capitals;         /* a call of a capitalised name makes an object */
    int ruby;
    int receivers;
} Grammar;

/* A definition. `start` and `end` have its wrappers; `first` is the line where the comment before it begins. Spans that
   are not there are 0 to 0, a missing body is -1. In the end all places but `start` and `end` are told from `start`, and
   the ends of spans from their beginning, which packs better. */
typedef struct {
    int32_t kind, node_start, start, end, name, name_end, first, line, last, parent, body, doc, doc_end, receiver, receiver_end;
} Def;

/* A used name: what stands before it, its role by bit, and how it is to be read. In the end `name_end` and `before_end`
   are told from the beginnings, `before` backwards from the name. */
typedef struct {
    int32_t line, name, name_end, before, before_end, role, symbol, odd;
} Ref;

/* An import statement. */
typedef struct {
    int32_t line, start, end, symbol;
} Import;

/* Lines, 1-based and inclusive; `symbol` and `kind` as in `sleuth.code.chunks.Chunk`. */
typedef struct {
    int32_t start, end, symbol, kind;
} Chunk;

VECTOR(Chunks, Chunk)
VECTOR(Defs, Def)
VECTOR(Refs, Ref)
VECTOR(Imports, Import)
VECTOR(Places, uint32_t)

typedef struct {
    const char* source;
    uint32_t size;
    FlatNodes nodes;   /* while it is taken apart, as are the next two */
    Places lines;      /* where each line begins */
    Places def_nodes;  /* per definition, its node */
    uint32_t count;    /* of nodes */
    uint32_t odd;      /* of references that are not plain */
    Defs defs;
    Refs refs;
    Imports imports;
    Chunks chunks;
    int sound;
} Found;

static void found_free(Found* f) {
    free(f->defs.data);
    free(f->refs.data);
    free(f->imports.data);
    free(f->chunks.data);
}

/* lines */

static void find_lines(Found* f) {
    *Places_push(&f->lines) = 0;
    const char *p = f->source, *end = f->source + f->size;
    while (p < end && (p = memchr(p, '\n', end - p))) *Places_push(&f->lines) = (uint32_t)(++p - f->source);
}

static int32_t line_of(const Found* f, uint32_t byte) {
    uint32_t low = 0, high = f->lines.n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->lines.data[middle] <= byte) low = middle + 1;
        else high = middle;
    }
    return (int32_t)low;
}

static int is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The line without blanks at either end. */
static void line_text(const Found* f, int32_t line, const char** start, const char** end) {
    *start = f->source + f->lines.data[line - 1];
    *end = (uint32_t)line < f->lines.n ? f->source + f->lines.data[line] - 1 : f->source + f->size;
    while (*start < *end && is_space(**start)) ++*start;
    while (*start < *end && is_space((*end)[-1])) --*end;
}

#define BEGINS(text) ((size_t)(b - a) >= sizeof(text) - 1 && !memcmp(a, text, sizeof(text) - 1))

/* Where the comment before `start` begins; no line up to `taken` belongs to it. */
static int32_t first_line(const Found* f, uint32_t start, char mark, int32_t taken) {
    int32_t line = line_of(f, start), first = line;
    if (line < 2) return line;
    for (uint32_t i = f->lines.data[line - 1]; i < start; i++)
        if (!is_space(f->source[i])) return line;
    int block = 0;
    for (; first > taken + 1 && line - first < 80; first--) {
        const char *a, *b;
        line_text(f, first - 1, &a, &b);
        if (block) {
            block = !BEGINS("/*");
        } else if (mark == '/' && b - a >= 2 && b[-2] == '*' && b[-1] == '/') {
            block = !BEGINS("/*");
            if (block && !BEGINS("*")) break;
        } else {
            int comment = (mark == '/' ? BEGINS("//") : a < b && *a == mark) || BEGINS("///") || BEGINS("#[") || BEGINS("@");
            if (!comment || BEGINS("#!") || BEGINS("#include")) break;
        }
    }
    return block ? line : first;
}

/* definitions */

/* A test that is written `TEST(Suite, Name)`, or TEST_F, TYPED_TEST and so on, is called by both. */
static void name_test(const Found* f, uint32_t name, Def* d) {
    const FlatNode* nodes = f->nodes.data;
    const char* text = f->source + d->name;
    int32_t size = d->name_end - d->name;
    if (memcmp(text, "TEST", 4) && (size < 10 || memcmp(text, "TYPED_TEST", 10))) return;
    uint32_t list = nodes[name].stop, count = 0, last = NONE, first = NONE;
    if (list >= f->nodes.n || nodes[list].parent != nodes[name].parent) return;
    for (uint32_t j = list + 1; j < nodes[list].stop; j = nodes[j].stop) {
        if (!nodes[j].named) continue;
        if (!count++) first = j;
        last = j;
    }
    if (count != 2 || nodes[first].stop != first + 2 || nodes[last].stop != last + 2) return;
    d->name = nodes[first].start;
    d->name_end = nodes[last].end;
}

static int name_span(const Found* f, const Grammar* g, uint32_t i, int kind, Def* d) {
    const FlatNodes* nodes = &f->nodes;
    uint32_t name = child_with(nodes, i, g->fields.name);
    if (name == NONE && kind == IMPL) name = child_with(nodes, i, g->fields.type);
    if (name == NONE && g->facts[nodes->data[i].symbol] & COMPANION) {
        d->name = nodes->data[i].start;
        d->name_end = d->name + 9;
        return 1;
    }
    if (name == NONE && g->facts[nodes->data[i].symbol] & C_FUNCTION) {
        uint32_t inner = child_with(nodes, i, g->fields.declarator);
        while (inner != NONE) {
            name = inner;
            if (g->facts[nodes->data[name].symbol] & OPERATOR) break;
            inner = child_with(nodes, name, g->fields.declarator);
            if (inner == NONE && g->facts[nodes->data[name].symbol] & REFERENCE_TO)
                for (uint32_t j = name + 1; j < nodes->data[name].stop; j = nodes->data[j].stop)
                    if (nodes->data[j].named) inner = j;
        }
    }
    if (name == NONE) return 0;
    d->name = nodes->data[name].start;
    d->name_end = nodes->data[name].end;
    if (d->name_end - d->name >= 4 && g->facts[nodes->data[i].symbol] & C_FUNCTION) name_test(f, name, d);
    return 1;
}

/* The first captured name inside the node. */
static int captured_name(const Found* f, uint32_t i, Def* d) {
    const FlatNode* nodes = f->nodes.data;
    for (uint32_t j = i; j < f->nodes.n && nodes[j].start < nodes[i].end; j++) {
        if (nodes[j].marks & 1u << NAME) {
            d->name = nodes[j].start;
            d->name_end = nodes[j].end;
            return 1;
        }
    }
    return 0;
}

static uint32_t facts_of(const Grammar* g, uint32_t symbol) {
    return symbol < g->program.symbols ? g->facts[symbol] : 0;
}

enum { ANOTHER, SOLE, FIRST_OF_SOME };

/* Whether the definition in the child `inner` is what the node wraps, or the first of those that it holds. */
static int place_in(const Found* f, const Grammar* g, uint32_t wrapper, uint32_t inner) {
    const FlatNode* nodes = f->nodes.data;
    int seen = 0;
    for (uint32_t j = wrapper + 1; j < nodes[wrapper].stop && seen < 8; j = nodes[j].stop) {
        if (!nodes[j].named) continue;
        seen++;
        if (j != inner && facts_of(g, nodes[j].symbol) & BESIDE_WRAPPED) return j < inner ? ANOTHER : FIRST_OF_SOME;
    }
    return SOLE;
}

static void wrap(const Found* f, const Grammar* g, uint32_t i, Def* d) {
    const FlatNode* nodes = f->nodes.data;
    uint32_t start = nodes[i].start, end = nodes[i].end, inner = i, parent = nodes[i].parent;
    int whole = 1; /* the first of some has the head of their line, not their end */
    while (parent != NONE && facts_of(g, nodes[parent].symbol) & WRAPPER) {
        int place = place_in(f, g, parent, inner);
        whole = whole && place == SOLE;
        if (place == ANOTHER || (!whole && nodes[parent].row != nodes[i].row)) break;
        start = nodes[parent].start;
        if (whole && nodes[parent].end > end) end = nodes[parent].end;
        inner = parent;
        parent = nodes[parent].parent;
    }
    d->start = start;
    d->end = end;
}

static int32_t body_of(const Found* f, const Grammar* g, uint32_t i, int kind) {
    const FlatNodes* nodes = &f->nodes;
    uint32_t body = child_with(nodes, i, g->fields.body);
    if (body == NONE && (kind == FUNCTION || kind == METHOD)) {
        uint32_t value = child_with(nodes, i, g->fields.value);
        if (value == NONE) value = child_with(nodes, i, g->fields.right);
        body = child_with(nodes, value, g->fields.body);
    }
    return body == NONE ? -1 : (int32_t)nodes->data[body].start;
}

/* The type that `typedef struct S {} S` defines beside `S` itself, NONE where it defines none. */
static uint32_t same_type(const Found* f, uint32_t i, const Def* d) {
    for (uint32_t k = f->defs.n; HOLDS_MEMBERS(d->kind) && k > 0 && f->def_nodes.data[k - 1] == f->nodes.data[i].parent; k--) {
        const Def* type = &f->defs.data[k - 1];
        int32_t size = d->name_end - d->name;
        if (type->kind == TYPE && type->name_end - type->name == size && !memcmp(f->source + type->name, f->source + d->name, size)) return k - 1;
    }
    return NONE;
}

/* Puts the definition that node `i` is, unless its span is another already; a strong kind replaces that. */
static void put_def(Found* f, const Grammar* g, uint32_t i, Def d) {
    const FlatNode* nodes = f->nodes.data;
    int kind = d.kind;
    uint32_t k = same_type(f, i, &d);
    for (uint32_t j = f->defs.n; j > 0 && nodes[f->def_nodes.data[j - 1]].start == nodes[i].start; j--) {
        uint32_t other = f->def_nodes.data[j - 1];
        if (other == i) continue; /* by another of its names */
        if (nodes[other].end > nodes[i].end) break; /* what is around that ends no sooner */
        if (nodes[other].end != nodes[i].end) continue;
        if (WEAK(kind) || f->defs.data[j - 1].kind == kind) return;
        k = j - 1;
        break;
    }
    if (k == NONE) {
        k = f->defs.n;
        Defs_push(&f->defs);
        Places_push(&f->def_nodes);
    }
    wrap(f, g, i, &d);
    d.body = body_of(f, g, i, kind);
    if (g->facts[nodes[i].symbol] & TO_THE_END) {
        d.body = (int32_t)nodes[i].end;
        d.end = (int32_t)f->size;
    }
    if (g->receivers && kind == METHOD) {
        uint32_t receiver = child_with(&f->nodes, i, g->fields.receiver);
        if (receiver != NONE) {
            d.receiver = nodes[receiver].start;
            d.receiver_end = nodes[receiver].end;
        }
    }
    f->defs.data[k] = d;
    f->def_nodes.data[k] = i;
}

/* Adds the definition that node `i` is; a declaration of constants, attributes or types is one by each of its names. */
static void add_def(Found* f, const Grammar* g, uint32_t i, int kind) {
    const FlatNode* nodes = f->nodes.data;
    Def d = {.kind = kind, .node_start = nodes[i].start, .parent = -1};
    int found = 0;
    for (uint32_t j = i + 1; WEAK(kind) && j < nodes[i].stop;) {
        if (nodes[j].marks & 1u << NAME) {
            d.name = nodes[j].start;
            d.name_end = nodes[j].end;
            put_def(f, g, i, d);
            found = 1;
        }
        j = nodes[j].marks >> FIRST_DEF ? nodes[j].stop : j + 1;
    }
    if (!found && (name_span(f, g, i, kind, &d) || captured_name(f, i, &d))) put_def(f, g, i, d);
}

/* In order of start, longer first. They come nearly so: only wrappers move a start. */
static void sort_defs(Found* f) {
    for (uint32_t i = 1; i < f->defs.n; i++) {
        Def d = f->defs.data[i];
        uint32_t node = f->def_nodes.data[i], j = i;
        for (; j > 0; j--) {
            const Def* before = &f->defs.data[j - 1];
            if (before->start < d.start || (before->start == d.start && before->end >= d.end)) break;
            f->defs.data[j] = *before;
            f->def_nodes.data[j] = f->def_nodes.data[j - 1];
        }
        f->defs.data[j] = d;
        f->def_nodes.data[j] = node;
    }
}

static uint32_t defs_from(const Found* f, uint32_t byte) {
    uint32_t low = 0, high = f->defs.n;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if ((uint32_t)f->defs.data[middle].start <= byte) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The innermost definition around a byte, -1 for none; `slack` 1 takes in the end. */
static int32_t owner_of(const Found* f, uint32_t byte, int slack) {
    int32_t i = (int32_t)defs_from(f, byte) - 1;
    if (i < 0) return -1;
    while (i >= 0 && (uint32_t)f->defs.data[i].end + slack <= byte) i = f->defs.data[i].parent;
    return i;
}

/* The line where the definition before the i-th one ends, 0 where none does. */
static int32_t taken_before(const Found* f, uint32_t i) {
    const Def *defs = f->defs.data, *d = &defs[i];
    int32_t k = (int32_t)i - 1;
    while (k >= 0 && k != d->parent && defs[k].parent != d->parent) k = defs[k].parent;
    return k >= 0 && k != d->parent && defs[k].end <= d->start ? defs[k].last : 0;
}

/* What a definition stands in: a type's name does not contain the type, nor a declaration's first name the others. */
static int32_t container_of(const Def* defs, int32_t around, const Def* d) {
    while (around >= 0) {
        const Def* o = &defs[around];
        int beside = o->kind == TYPE ? HOLDS_MEMBERS(d->kind) : WEAK(o->kind) && WEAK(d->kind) && o->start == d->start && o->end == d->end;
        if (!beside) break;
        around = o->parent;
    }
    return around;
}

static void find_defs(Found* f, const Grammar* g) {
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        uint32_t kinds = f->nodes.data[i].marks >> FIRST_DEF;
        if (kinds & 1u << ENUM) kinds &= ~(1u << CLASS); /* `enum class` */
        if (kinds) add_def(f, g, i, __builtin_ctz(kinds));
    }
    sort_defs(f);
    int32_t top = -1;
    for (uint32_t i = 0; i < f->defs.n; i++) {
        Def* d = &f->defs.data[i];
        while (top >= 0 && f->defs.data[top].end < d->end) top = f->defs.data[top].parent;
        d->parent = container_of(f->defs.data, top, d);
        d->first = first_line(f, d->start, g->comment, taken_before(f, i));
        d->line = line_of(f, d->name);
        d->last = line_of(f, d->end - 1 > d->start ? d->end - 1 : d->start);
        top = (int32_t)i;
    }
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        if (!(f->nodes.data[i].marks & 1u << DOC)) continue;
        int32_t owner = owner_of(f, f->nodes.data[i].start, 1);
        if (owner < 0 || f->defs.data[owner].doc_end) continue;
        f->defs.data[owner].doc = f->nodes.data[i].start;
        f->defs.data[owner].doc_end = f->nodes.data[i].end;
    }
}

#endif
