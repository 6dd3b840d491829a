//! Declarations in a C header of a border between Rust and C++.

/// Counts the functions whose declarations have `name` before their parameters.
///
/// # Panics
/// If one of them is not declared `SB_NOEXCEPT`: an exception would pass through Rust.
pub fn noexcept_functions(header: &str, name: &str) -> usize {
    let lines = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.map(|line| line.split(" // ").next().unwrap_or(line)).collect::<Vec<_>>().join("\n");
    let is_function = |declaration: &&str| {
        declaration.split_once('(').is_some_and(|(before, _)| !before.contains('{') && before.contains(name))
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
    fn functions_with_the_name_are_counted() {
        assert_eq!(noexcept_functions(SOUND, " sb_"), 1);
    }

    #[test]
    #[should_panic(expected = "it may throw")]
    fn one_that_may_throw_is_refused() {
        noexcept_functions(&format!("{SOUND}void sb_f();"), " sb_");
    }
}
