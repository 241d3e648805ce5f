((script_element (start_tag (attribute (attribute_name) @_source) @import)) (#eq? @_source "src"))
((start_tag (tag_name) @_tag (attribute (attribute_name) @_source) @import) (#eq? @_tag "link") (#eq? @_source "href"))
((self_closing_tag (tag_name) @_tag (attribute (attribute_name) @_source) @import)
  (#eq? @_tag "link") (#eq? @_source "href"))
