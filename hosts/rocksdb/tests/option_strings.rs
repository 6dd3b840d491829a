//! Elastic filters chosen by an option string, as a C++ program would. One test in a process of its own: strings share one instance.

#![allow(unsafe_code)]

mod common;

use std::ffi::{c_char, c_int, c_void};

use rocksdb::Options;

use crate::common::{folder, unsafe_calls::run_cpp_test};

unsafe extern "C" {
    fn springbloom_test_option_strings(_: *mut c_void, _: *const c_char, _: *mut c_char, _: usize) -> c_int;
}

#[test]
fn option_strings_bring_filters_share_an_instance_and_are_refused_in_words() {
    run_cpp_test(springbloom_test_option_strings, &mut Options::default(), folder().path());
}
