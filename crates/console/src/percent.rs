//! Shares in per cent.

/// Such as `50%` or `12.5%`: to a tenth, where there is one.
pub fn percent(share: f64) -> String {
    format!("{}%", (share * 1000.0).round() / 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_told_where_there_is_one() {
        let told = [0.0, 0.125, 0.5, 0.29, 1.0, 2.0 / 3.0].map(percent);
        assert_eq!(told, ["0%", "12.5%", "50%", "29%", "100%", "66.7%"]);
    }
}
