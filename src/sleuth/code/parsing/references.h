/* References and imports of a flat tree whose definitions are known. */
#ifndef SLEUTH_REFERENCES_H
#define SLEUTH_REFERENCES_H

#include "extract.h"

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

/* Whether a text is one name as it is, with no parts: 0 where it holds no word, -1 where it is not plain. */
static int whole_name(const Found* f, const Ref* r) {
    if (r->name_end - r->name > 80) return -1;
    int words = 0;
    for (const char* p = f->source + r->name; p < f->source + r->name_end; p++) {
        if (*p <= ' ' || *p >= 127) return -1;
        words |= is_word(*p);
    }
    return words;
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

/* Whether a tag is one of the page, and no component: lower case, without a dot. */
static int is_html(const Found* f, const FlatNode* tag) {
    const char* start = f->source + tag->start;
    return *start >= 'a' && *start <= 'z' && !memchr(start, '.', tag->end - tag->start);
}

static void add_ref(Found* f, const Grammar* g, uint32_t i, int role, Places* at) {
    const FlatNode* node = &f->nodes.data[i];
    if (node->parent != NONE && facts_of(g, f->nodes.data[node->parent].symbol) & TAG && is_html(f, node)) return;
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
        int plain = facts_of(g, node->symbol) & WHOLE_NAME ? whole_name(f, &r) : cut_name(f, &r);
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
        if (f->nodes.data[i].marks & 1u << NAME) roles = 0; /* it is defined here */
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
