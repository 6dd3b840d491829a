//! Distinct values in the order of their appearance, and values that appear twice.

/// The distinct values, in order of appearance.
pub fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// The first value that appears twice.
pub fn repeated<T: PartialEq>(values: &[T]) -> Option<&T> {
    values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_repeated_value() {
        assert_eq!(repeated(&[1, 2, 3, 2, 1]), Some(&2));
        assert_eq!(repeated(&[1.0, 4.0]), None);
    }
}
