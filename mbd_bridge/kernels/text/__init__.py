"""Programs as text: LLVM for vectors of states, one state and marches; C."""
