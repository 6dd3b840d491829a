//! Declarations in a C header of a border between Rust and C++.

use std::collections::BTreeMap;

/// The structs of a header, laid out by the rules of C on 64-bit Linux: name, size, and the fields with their offsets.
pub struct Structs {
    structs: BTreeMap<String, Layout>,
}

struct Layout {
    size: usize,
    align: usize,
    fields: Vec<(String, usize)>,
}

impl Structs {
    /// Those that the header defines, with fields of numbers, pointers, functions, and structs that it defines before.
    ///
    /// # Panics
    /// A field has another type.
    pub fn of(header: &str) -> Self {
        let code = code_of(header);
        let mut found = Self { structs: BTreeMap::new() };
        let bodies = code.split("struct ").skip(1).filter_map(|rest| {
            let (before, rest) = rest.split_once('{')?;
            let (body, after) = rest.split_once('}')?;
            let name = if before.trim().is_empty() { after.split(';').next()? } else { before };
            (!before.contains(';')).then_some((name.trim(), body))
        });
        for (name, body) in bodies {
            found.add(name, body);
        }
        found
    }

    fn add(&mut self, name: &str, body: &str) {
        let (mut fields, mut end, mut most) = (Vec::new(), 0usize, 1);
        for field in body.split(';').map(str::trim).filter(|field| !field.is_empty()) {
            let (name, size, align) = self.field(field);
            let begin = end.next_multiple_of(align);
            fields.push((name, begin));
            (end, most) = (begin + size, most.max(align));
        }
        self.structs
            .insert(name.to_owned(), Layout { size: end.next_multiple_of(most), align: most, fields });
    }

    /// Name, size and alignment.
    fn field(&self, field: &str) -> (String, usize, usize) {
        if let Some((_, function)) = field.split_once("(*") {
            return (function.split(')').next().unwrap_or_default().to_owned(), 8, 8);
        }
        let (kind, name) = field.rsplit_once([' ', '*']).expect("a type and a name");
        let (size, align) = match kind.trim_start_matches("const ").trim() {
            _ if field.contains('*') => (8, 8),
            "uint64_t" | "size_t" | "double" => (8, 8),
            "uint32_t" | "int32_t" | "int" => (4, 4),
            "bool" => (1, 1),
            other => {
                let known = self.structs.get(other).unwrap_or_else(|| panic!("an unknown type: {field}"));
                (known.size, known.align)
            }
        };
        (name.to_owned(), size, align)
    }

    /// Requires that a struct has this size and these fields, and forgets it.
    ///
    /// # Panics
    /// If it has others.
    pub fn require(&mut self, name: &str, size: usize, fields: &[(&str, usize)]) {
        let layout = self.structs.remove(name).unwrap_or_else(|| panic!("no struct {name}"));
        let expected: Vec<_> = layout.fields.iter().map(|(name, at)| (&**name, *at)).collect();
        assert_eq!((size, fields), (layout.size, &*expected), "{name}");
    }

    /// Of this one nothing is required.
    pub fn forget(&mut self, name: &str) {
        self.structs.remove(name);
    }

    /// Of which nothing was required yet.
    pub fn names(&self) -> Vec<&str> {
        self.structs.keys().map(String::as_str).collect()
    }
}

/// Without comments.
fn code_of(header: &str) -> String {
    let lines = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(|line| line.split(" // ").next().unwrap_or(line).trim_end()).collect::<Vec<_>>().join("\n")
}

/// Counts the functions whose declarations have `name` before their parameters.
///
/// # Panics
/// If one of them is not declared `SB_NOEXCEPT`: an exception would pass through Rust.
pub fn noexcept_functions(header: &str, name: &str) -> usize {
    let code = code_of(header);
    let is_function = |declaration: &&str| {
        // One with a body is compiled where it is included.
        !declaration.contains('{')
            && declaration.split_once('(').is_some_and(|(before, _)| before.contains(name))
    };
    let functions: Vec<_> = code.split(';').filter(is_function).collect();
    for declaration in &functions {
        assert!(declaration.ends_with("SB_NOEXCEPT"), "it may throw: {declaration}");
    }
    functions.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str =
        "struct a { int b; };\n// void sb_c();\nint sb_d(int e) SB_NOEXCEPT; // once\nvoid other();\n";

    #[test]
    fn structs_are_laid_out_as_in_c() {
        let header = "typedef struct b b;\ntypedef struct {\n  uint32_t first;  // a word's half\n  // Another.\n  b* second;\n} a;\n\
            struct c {\n  int (*call)(const b* of,\n              void (*take)(void*));\n  a inner;\n  int32_t last;\n};";
        let mut structs = Structs::of(header);
        structs.require("a", 16, &[("first", 0), ("second", 8)]);
        assert_eq!(structs.names(), ["c"]);
        structs.require("c", 32, &[("call", 0), ("inner", 8), ("last", 24)]);
    }

    #[test]
    #[should_panic(expected = "a")]
    fn another_layout_is_refused() {
        Structs::of("struct a { int b; uint64_t c; };").require("a", 16, &[("c", 0), ("b", 8)]);
    }

    #[test]
    fn functions_with_the_name_are_counted() {
        assert_eq!(noexcept_functions(SOUND, " sb_"), 1);
    }

    #[test]
    #[should_panic(expected = "it may throw")]
    fn one_that_may_throw_is_refused() {
        noexcept_functions(&format!("{SOUND}void sb_f();"), " sb_");
    }
}
