; Selectors up to three steps deep, as in `.card > ul a.link`.
(rule_set (selectors [
  (class_selector (class_name (identifier) @name))
  (_ (class_selector (class_name (identifier) @name)))
  (_ (_ (class_selector (class_name (identifier) @name))))
]) (block) @body) @definition.constant
(rule_set (selectors [
  (id_selector (id_name) @name)
  (_ (id_selector (id_name) @name))
  (_ (_ (id_selector (id_name) @name)))
]) (block) @body) @definition.constant
(keyframes_statement (keyframes_name) @name (keyframe_block_list) @body) @definition.constant
((declaration (property_name) @name) @definition.constant (#match? @name "^--"))
((at_rule (at_keyword) @_keyword . (keyword_query) @name) @definition.function (#eq? @_keyword "@mixin"))
