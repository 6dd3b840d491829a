//! Policies by the kind that a host chooses.

use super::{Policy, benefit, monkey, multi_queue, uniform};
use crate::policy_kind::PolicyKind;

/// The policy of that kind.
pub(crate) fn build(kind: PolicyKind, lifetime: Option<u64>) -> Box<dyn Policy> {
    match kind {
        PolicyKind::Uniform => Box::new(uniform::new()),
        PolicyKind::Monkey => Box::new(monkey::new()),
        PolicyKind::MultiQueue => Box::new(multi_queue::MultiQueue::new(lifetime)),
        PolicyKind::Benefit => Box::new(benefit::Benefit::new()),
    }
}
