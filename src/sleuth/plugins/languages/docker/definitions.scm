(from_instruction as: (image_alias) @name) @definition.module
(arg_pair name: (_) @name) @definition.constant
(env_pair name: (_) @name) @definition.constant
