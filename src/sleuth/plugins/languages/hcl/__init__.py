"""HCL, the language of Terraform: grammar, queries, imports and rules."""
