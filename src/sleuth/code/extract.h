/* Definitions, references, imports and chunks of a flat tree whose nodes are marked. */
#ifndef SLEUTH_EXTRACT_H
#define SLEUTH_EXTRACT_H

#include "matches.h"

/* What a capture means, by its bit: those of `sleuth.code.queries.CAPTURES`, in that order. */
enum { NAME, DOC, IMPORT, BASE_REF, NEW_REF, CALL_REF, NAME_REF, FIRST_DEF };
enum { CLASS, INTERFACE, STRUCT, ENUM, TRAIT, IMPL, MODULE, FUNCTION, METHOD, PROPERTY, MACRO, CONSTANT, ATTRIBUTE, TYPE };
#define WEAK(kind) ((kind) >= CONSTANT)
#define HOLDS_MEMBERS(kind) ((kind) <= MODULE)

/* What a symbol of the grammar is, as bits. */
enum { WRAPPER = 1, BEFORE_WRAPPED = 2, IN_PARTS = 4, C_FUNCTION = 8, COMPANION = 16, REFERENCE_TO = 32, CALL = 64 };

/* What to do with a used name that is not plain: its parts are known, or its whole text is to be cut. */
enum { PLAIN, ODD_PARTS, ODD_TEXT };

typedef struct {
    uint16_t name, type, declarator, body, value, right, method, object, receiver, scope;
} Fields;

typedef struct {
    const TSLanguage* language;
    Program program;
    Fields fields;
    const uint8_t* facts; /* by symbol */
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

static int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The line without blanks at either end. */
static void line_text(const Found* f, int32_t line, const char** start, const char** end) {
    *start = f->source + f->lines.data[line - 1];
    *end = (uint32_t)line < f->lines.n ? f->source + f->lines.data[line] - 1 : f->source + f->size;
    while (*start < *end && is_space(**start)) ++*start;
    while (*start < *end && is_space((*end)[-1])) --*end;
}

#define BEGINS(text) ((size_t)(b - a) >= sizeof(text) - 1 && !memcmp(a, text, sizeof(text) - 1))

static int32_t first_line(const Found* f, uint32_t start, char mark) {
    int32_t line = line_of(f, start), first = line;
    if (line < 2) return line;
    for (uint32_t i = f->lines.data[line - 1]; i < start; i++)
        if (!is_space(f->source[i])) return line;
    int block = 0;
    for (; first > 1 && line - first < 80; first--) {
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
            inner = child_with(nodes, name, g->fields.declarator);
            if (inner == NONE && g->facts[nodes->data[name].symbol] & REFERENCE_TO)
                for (uint32_t j = name + 1; j < nodes->data[name].stop; j = nodes->data[j].stop)
                    if (nodes->data[j].named) inner = j;
        }
    }
    if (name == NONE) return 0;
    d->name = nodes->data[name].start;
    d->name_end = nodes->data[name].end;
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

/* Whether the definition at `start` is what the node wraps: no other stands before it. */
static int sole(const Found* f, const Grammar* g, uint32_t wrapper, uint32_t start) {
    const FlatNode* nodes = f->nodes.data;
    int seen = 0;
    for (uint32_t j = wrapper + 1; j < nodes[wrapper].stop && seen < 8; j = nodes[j].stop) {
        if (!nodes[j].named) continue;
        seen++;
        if (nodes[j].end <= start && nodes[j].symbol < g->program.symbols && g->facts[nodes[j].symbol] & BEFORE_WRAPPED) return 0;
    }
    return 1;
}

static uint32_t facts_of(const Grammar* g, uint32_t symbol) {
    return symbol < g->program.symbols ? g->facts[symbol] : 0;
}

static void wrap(const Found* f, const Grammar* g, uint32_t i, Def* d) {
    const FlatNode* nodes = f->nodes.data;
    uint32_t start = nodes[i].start, end = nodes[i].end, parent = nodes[i].parent;
    while (parent != NONE && facts_of(g, nodes[parent].symbol) & WRAPPER && sole(f, g, parent, start)) {
        start = nodes[parent].start;
        if (nodes[parent].end > end) end = nodes[parent].end;
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

/* Adds the definition that node `i` is, unless its span is one already; a strong kind replaces another. */
static void add_def(Found* f, const Grammar* g, uint32_t i, int kind) {
    const FlatNode* nodes = f->nodes.data;
    Def d = {.kind = kind, .node_start = nodes[i].start, .parent = -1};
    if (!name_span(f, g, i, kind, &d) && !captured_name(f, i, &d)) return;
    uint32_t k = f->defs.n;
    while (k > 0 && nodes[f->def_nodes.data[k - 1]].start == nodes[i].start) {
        k--;
        if (nodes[f->def_nodes.data[k]].end > nodes[i].end) break; /* what is around that ends no sooner */
        if (nodes[f->def_nodes.data[k]].end != nodes[i].end) continue;
        if (WEAK(kind) || f->defs.data[k].kind == kind) return;
        break;
    }
    int same = k < f->defs.n && nodes[f->def_nodes.data[k]].start == nodes[i].start && nodes[f->def_nodes.data[k]].end == nodes[i].end;
    if (!same) {
        k = f->defs.n;
        Defs_push(&f->defs);
        Places_push(&f->def_nodes);
    }
    wrap(f, g, i, &d);
    d.body = body_of(f, g, i, kind);
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

static void find_defs(Found* f, const Grammar* g) {
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        uint32_t kinds = f->nodes.data[i].marks >> FIRST_DEF;
        if (kinds) add_def(f, g, i, __builtin_ctz(kinds));
    }
    sort_defs(f);
    int32_t top = -1;
    for (uint32_t i = 0; i < f->defs.n; i++) {
        Def* d = &f->defs.data[i];
        while (top >= 0 && f->defs.data[top].end < d->end) top = f->defs.data[top].parent;
        d->parent = top;
        d->first = first_line(f, d->start, g->comment);
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

/* references */

static int is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* The length of what separates the parts of a name at `p`, 0 where nothing does. */
static int separator(const char* p, const char* end) {
    if (*p == '.' || *p == '\\') return 1;
    if (p + 1 == end) return 0;
    return (*p == ':' && p[1] == ':') || (*p == '-' && p[1] == '>') || (*p == '?' && p[1] == '.') ? 2 : 0;
}

/* Whether type arguments that hold none themselves stand here, and nothing after them. */
static int is_generic(const char* p, const char* end) {
    if (end - p < 2 || end[-1] != '>') return 0;
    for (p++; p < end - 1; p++)
        if (*p == '<' || *p == '>' || *p == '[' || *p == ']') return 0;
    return 1;
}

/* Cuts a plain text into the last name and what stands before it: 0 where it holds no name, -1 where it is not plain. */
static int cut_name(const Found* f, Ref* r) {
    const char *start = f->source + r->name, *end = f->source + r->name_end;
    if (end - start > 80) start = end - 80;
    const char *last = NULL, *after = start, *angle = memchr(start, '<', end - start);
    if (angle && is_generic(angle, end) && end - (f->source + r->name) <= 80 && !memchr(start, '[', angle - start)) {
        end = angle;
        r->name_end = (int32_t)(end - f->source);
    }
    for (const char* p = start; p < end;) {
        if (*p <= ' ' || *p >= 127 || *p == '<') return -1;
        int length = separator(p, end);
        if (length) {
            last = p;
            after = p + length;
        }
        p += length ? length : 1;
    }
    r->name = (int32_t)(after - f->source);
    if (!last) return after < end;
    for (const char* p = after; p < end; p++)
        if (!is_word(*p)) return 0;
    r->before = (int32_t)(start - f->source);
    r->before_end = (int32_t)(last - f->source);
    return after < end;
}

static int used_parts(const Found* f, const Grammar* g, uint32_t i, Ref* r) {
    const FlatNodes* nodes = &f->nodes;
    uint32_t part = child_with(nodes, i, g->fields.name);
    if (part == NONE) part = child_with(nodes, i, g->fields.method);
    if (part == NONE) return 0;
    uint32_t before = child_with(nodes, i, g->fields.object);
    if (before == NONE) before = child_with(nodes, i, g->fields.receiver);
    if (before == NONE) before = child_with(nodes, i, g->fields.scope);
    r->name = nodes->data[part].start;
    r->name_end = nodes->data[part].end;
    if (before != NONE) {
        r->before_end = nodes->data[before].end;
        r->before = r->before_end - (int32_t)nodes->data[before].start > 80 ? r->before_end - 80 : (int32_t)nodes->data[before].start;
    }
    for (int32_t k = r->name; k < r->name_end; k++)
        if ((unsigned char)f->source[k] >= 128) r->odd = ODD_PARTS;
    return r->name < r->name_end;
}

static void set_role(const Found* f, const Grammar* g, Ref* r) {
    if (r->role != CALL_REF) return;
    const char *start = f->source + r->name, *end = f->source + r->name_end;
    if (g->capitals && *start >= 'A' && *start <= 'Z') {
        for (const char* p = start; p < end; p++)
            if (*p >= 'a' && *p <= 'z') r->role = NEW_REF;
    } else if (g->ruby && end - start == 3 && !memcmp(start, "new", 3)) {
        r->odd = r->odd ? r->odd : ODD_PARTS;
    }
}

static void add_ref(Found* f, const Grammar* g, uint32_t i, int role, Places* at) {
    const FlatNode* node = &f->nodes.data[i];
    uint32_t k = at->n;
    while (k > 0 && f->nodes.data[at->data[k - 1]].start == node->start) {
        k--;
        const FlatNode* other = &f->nodes.data[at->data[k]];
        if (other->end > node->end) break; /* what is around that ends no sooner */
        if (other->end == node->end && (other->marks & ((2u << role) - (1u << BASE_REF)))) return;
    }
    *Places_push(at) = i;
    Ref r = {.role = role, .name = (int32_t)node->start, .name_end = (int32_t)node->end};
    if (facts_of(g, node->symbol) & IN_PARTS) {
        if (!used_parts(f, g, i, &r)) return;
    } else {
        int plain = cut_name(f, &r);
        if (!plain) return;
        if (plain < 0) {
            r.odd = ODD_TEXT;
            r.name = (int32_t)node->start;
            r.name_end = (int32_t)node->end;
        }
    }
    if (!r.odd) set_role(f, g, &r);
    r.line = line_of(f, node->start);
    r.symbol = owner_of(f, node->start, 0);
    *Refs_push(&f->refs) = r;
}

static void find_refs(Found* f, const Grammar* g) {
    Places at = {0};
    for (uint32_t i = 0; i < f->nodes.n; i++) {
        uint32_t roles = f->nodes.data[i].marks & ((1u << FIRST_DEF) - (1u << BASE_REF));
        if (roles) add_ref(f, g, i, __builtin_ctz(roles), &at);
        if (f->nodes.data[i].marks & 1u << IMPORT) {
            const FlatNode* node = &f->nodes.data[i];
            uint32_t whole = facts_of(g, node->symbol) & CALL && node->parent != NONE ? node->parent : i;
            *Imports_push(&f->imports) = (Import){line_of(f, node->start), (int32_t)f->nodes.data[whole].start, (int32_t)node->end, owner_of(f, node->start, 0)};
        }
    }
    free(at.data);
}

static void make_relative(Found* f) {
    for (uint32_t i = 0; i < f->defs.n; i++) {
        Def* d = &f->defs.data[i];
        d->name_end -= d->name;
        d->doc_end -= d->doc;
        d->receiver_end -= d->receiver;
        d->node_start -= d->start;
        d->name -= d->start;
        if (d->body >= 0) d->body -= d->start;
        if (d->doc_end) d->doc -= d->start;
        if (d->receiver_end) d->receiver -= d->start;
    }
    for (uint32_t i = 0; i < f->refs.n; i++) {
        Ref* r = &f->refs.data[i];
        r->name_end -= r->name;
        r->before_end -= r->before;
        if (r->before_end) r->before = r->name - r->before;
        f->odd += r->odd != 0;
    }
}

#endif
