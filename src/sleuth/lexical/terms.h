/* A term of one segment, as the terms of a query are searched. */
#ifndef SLEUTH_TERMS_H
#define SLEUTH_TERMS_H
#include "postings.h"

typedef struct {
    Postings postings;
    const uint32_t *lengths;
    float weight;     /* of the query, idf included */
    float c0, c1;     /* K = c0 + c1 * length */
    float unit;       /* the most that one 255th of impact can add */
    uint32_t *firsts; /* of a list: per group of rows, the first posting in it, if it is in it */
    int is_sparse;    /* of a field that few rows have, and these no other field */
} Term;

#endif
