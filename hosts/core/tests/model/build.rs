//! Puts the code of the product under the scheduler's locks: as it is, and once with each planted fault.

use std::{env, fmt::Write, fs, path::Path};

/// The files that are modelled.
const FILES: [(&str, &str); 2] =
    [("gate", "../../src/engine/gate.rs"), ("table_life", "../../src/tables/table_life.rs")];

/// A fault: its name, the file, what stands there, and what is planted in its place.
const FAULTS: [(&str, &str, &str, &str); 6] = [
    ("closing_does_not_wait", "gate", "self.left.wait_while(&mut state, |state| state.inside > 0);", ""),
    (
        "who_leaves_gives_back_what_is_lent_too_late",
        "gate",
        "self.lent = None;\n        self.gate.state.lock().inside -= 1;\n        self.gate.left.notify_all();",
        "self.gate.state.lock().inside -= 1;\n        self.gate.left.notify_all();\n        self.lent = None;",
    ),
    (
        "a_gate_that_is_shut_lets_in",
        "gate",
        "let lent = self.state.lock().lent.take();",
        "let lent = self.state.lock().lent.clone();",
    ),
    ("a_closed_table_is_opened", "table_life", "waits.as_ref()?;", ""),
    (
        "an_open_table_keeps_what_it_waited_with",
        "table_life",
        "if why.is_none() { waits.take() } else { None }",
        "None::<Arc<W>>",
    ),
    ("a_closed_table_waits_on", "table_life", "self.waits.lock().take()", "self.waits.lock().clone()"),
];

fn main() {
    let sources = FILES.map(|(name, path)| {
        println!("cargo::rerun-if-changed={path}");
        let code = fs::read_to_string(path).expect("a source of the product");
        (name, code.replace("use parking_lot::", "use crate::sync::"))
    });
    println!("cargo::rerun-if-changed=src/life.rs");
    let life = fs::read_to_string("src/life.rs").expect("the model");
    let mut variants = variant("right", &sources, &life);
    for (name, file, right, planted) in FAULTS {
        let faulty = sources.clone().map(|(of, code)| {
            if of != file {
                return (of, code);
            }
            assert_eq!(code.matches(right).count(), 1, "{name}: the code is another one now");
            (of, code.replace(right, planted))
        });
        variants += &variant(name, &faulty, &life);
    }
    let faults = FAULTS.map(|(name, ..)| format!("(\"{name}\", {name}::live),"));
    write!(variants, "fn faults() -> [(&'static str, fn()); {}] {{ [{}] }}", faults.len(), faults.concat())
        .expect("text grows");
    let folder = env::var("OUT_DIR").expect("cargo says where");
    fs::write(Path::new(&folder).join("variants.rs"), variants).expect("write");
}

fn variant(name: &str, sources: &[(&str, String)], life: &str) -> String {
    let mut module = format!("#[allow(dead_code, unused_mut, clippy::all)]\nmod {name} {{\n");
    for (file, code) in sources {
        write!(module, "mod {file} {{\n{code}\n}}\n").expect("text grows");
    }
    module + life + "\n}\n"
}
