"""Pure decisions about preemption gates, dispatch and the winning worker."""
