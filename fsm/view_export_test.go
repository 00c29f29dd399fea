package fsm

// CompileView is compileView for external tests.
var CompileView = compileView
