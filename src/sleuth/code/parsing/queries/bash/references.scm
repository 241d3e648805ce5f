; `.` and `:` are commands too; nothing defines them.
(command name: (command_name (word) @name) (#match? @name "\\w")) @reference.call
