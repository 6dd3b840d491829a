//! Puts the code of the product under the scheduler's locks: as it is, and once with each planted fault.

use std::{env, fmt::Write, fs, path::Path};

/// The files that are modelled.
const FILES: [(&str, &str); 4] = [
    ("gate", "../../src/engine/gate.rs"),
    ("table_life", "../../src/tables/table_life.rs"),
    ("in_flight", "../../../../crates/manager/src/registry/load_queue/in_flight.rs"),
    ("waiting", "../../../../crates/manager/src/registry/load_queue/waiting.rs"),
];

/// Where they find what they use.
const USES: [(&str, &str); 3] = [
    ("use parking_lot::", "use crate::sync::"),
    ("use crate::unit_source::", "use springbloom_manager::"),
    ("use crate::waiting_table::", "use springbloom_manager::"),
];

/// A fault: its name, the file, what stands there, and what is planted in its place.
const FAULTS: [(&str, &str, &str, &str); 10] = [
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
    (
        "a_table_stays_in_the_queue_if_it_is_closed_during_its_try",
        "waiting",
        "let Waiter { table, place, state } = self.tables.remove(&number)?;",
        "if matches!(self.tables.get(&number)?.state, State::Reading { .. }) { return None; }
        let Waiter { table, place, state } = self.tables.remove(&number)?;",
    ),
    (
        "an_open_table_stays_in_the_queue",
        "waiting",
        "(None, _) => _ = self.tables.remove(&number),",
        "(None, _) => (),",
    ),
    ("a_table_without_room_is_forgotten", "waiting", "self.lacking_room.push_back(number);", ""),
    (
        "a_table_that_failed_is_forgotten",
        "waiting",
        "or_insert_with(new).tables.push_back(number);",
        "or_insert_with(new);",
    ),
];

fn main() {
    let sources = FILES.map(|(name, path)| {
        println!("cargo::rerun-if-changed={path}");
        let code = fs::read_to_string(path).expect("a source of the product");
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        (name, USES.iter().fold(code.to_owned(), |code, (theirs, ours)| code.replace(theirs, ours)))
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
