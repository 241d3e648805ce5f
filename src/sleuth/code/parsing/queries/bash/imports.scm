(command name: (command_name) @_sources (#any-of? @_sources "source" ".")) @import
