//! The border to this host's C++ (`cpp/abi.h`), and the only unsafe code of this crate. The C++ calls the core by itself.

#![allow(unsafe_code)]

mod facts;
mod imports;
#[cfg(test)]
mod layout;
mod types;

pub use facts::{FamilyStatus, IndexOptions, IndexSize, ListedTable};
pub(crate) use imports::{
    engine, inspect_table, install, is_another_installed, list_tables, look_up, measure_indexes, status,
};
pub(crate) use types::TableInfo;

#[cfg(test)]
mod tests {
    use springbloom_testkit::header::noexcept_functions;

    #[test]
    fn the_engine_has_the_name_that_users_are_told() {
        assert_eq!(super::engine().hotness_file.text(), crate::HOTNESS_FILE_NAME);
    }

    #[test]
    fn no_function_of_the_border_lets_an_exception_out() {
        let functions = noexcept_functions(include_str!("../../cpp/abi.h"), "springbloom_");
        assert_eq!(functions, 8, "{functions} functions were found");
    }
}
