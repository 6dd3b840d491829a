//! Shared by the tests of the structures on flash: devices in memory that lose power, fail, and are copied while they are written.
//!
//! A development dependency only. The product must not need it.
#![forbid(unsafe_code)]

mod copied;
mod sim;

use std::ops::ControlFlow;

use springbloom_page_device::Watch;

pub use copied::CopiedStorage;
pub use sim::{PowerLoss, SimPower, SimStorage};

/// A watch that ends a call after `steps` steps, to see what it leaves.
pub fn ending_after(steps: u64) -> Watch<'static> {
    let mut left = steps;
    Watch::new(move |_, _| {
        let is_over = left == 0;
        left = left.saturating_sub(1);
        if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
}
