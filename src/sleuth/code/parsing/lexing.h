/* How does a grammar's lexer step through a source? As the runtime does, but one ASCII character after another at once. */
#ifndef SLEUTH_LEXING_H
#define SLEUTH_LEXING_H

#define ts_lexer_init ts_lexer_init_for_any_input
#include "treesitter/lexer.c"
#undef ts_lexer_init

/* The source is one chunk and one range, so an ASCII character that another follows ends neither. */
static void lexer_advance(TSLexer* lexer, bool skip) {
    Lexer* self = (Lexer*)lexer;
    uint32_t next = self->current_position.bytes + 1, at = next - self->chunk_start;
    if (self->lookahead_size != 1 || at >= self->chunk_size || (uint8_t)self->chunk[at] >= 128) {
        ts_lexer__advance(lexer, skip);
        return;
    }
    self->current_position.bytes = next;
    if (self->data.lookahead == '\n') {
        self->current_position.extent.row++;
        self->current_position.extent.column = 0;
        ts_lexer__set_column_data(self, 0);
    } else {
        self->current_position.extent.column++;
        ts_lexer__increment_column_data(self);
    }
    if (skip) self->token_start_position = self->current_position;
    self->data.lookahead = self->chunk[at];
}

static void lexer_mark_end(TSLexer* lexer) {
    Lexer* self = (Lexer*)lexer;
    self->token_end_position = self->current_position;
}

void ts_lexer_init(Lexer* self) {
    ts_lexer_init_for_any_input(self);
    self->data.advance = lexer_advance;
    self->data.mark_end = lexer_mark_end;
}

#endif
