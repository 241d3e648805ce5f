"""The storage of code: file versions, snapshots and their segments."""
