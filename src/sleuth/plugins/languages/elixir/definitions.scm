(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block) @body
  (#eq? @_keyword "defmodule")) @definition.module
(call
  target: (identifier) @_keyword
  (arguments . (alias) @name)
  (do_block) @body
  (#eq? @_keyword "defprotocol")) @definition.interface
(call
  target: (identifier) @_keyword
  (arguments (keywords (pair value: (alias) @name)))
  (do_block) @body
  (#eq? @_keyword "defimpl")) @definition.impl
(call
  target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))
  ])
  (do_block)? @body
  (#any-of? @_keyword "def" "defp" "defguard" "defguardp" "defdelegate")) @definition.function
(call
  target: (identifier) @_keyword
  (arguments . [
    (identifier) @name
    (call target: (identifier) @name)
    (binary_operator left: (call target: (identifier) @name))
  ])
  (do_block)? @body
  (#any-of? @_keyword "defmacro" "defmacrop")) @definition.macro

; What a behaviour asks for, `@callback init(options) :: options`.
(unary_operator operand: (call
  target: (identifier) @_keyword
  (arguments [
    (binary_operator left: (call target: (identifier) @name))
    (binary_operator left: (identifier) @name)
    (binary_operator left: (binary_operator left: (call target: (identifier) @name)))
  ])
  (#any-of? @_keyword "callback" "macrocallback"))) @definition.function
(unary_operator operand: (call
  target: (identifier) @_keyword
  (arguments (binary_operator left: [(identifier) @name (call target: (identifier) @name)]))
  (#any-of? @_keyword "type" "typep" "opaque"))) @definition.type

((unary_operator operand: (call target: (identifier) @_keyword (arguments (string) @doc)))
  (#eq? @_keyword "moduledoc"))
