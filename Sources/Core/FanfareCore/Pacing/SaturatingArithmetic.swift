/// Times and counts that stop at the end of their range instead of trapping: what they lead to there (a wait without
/// end, a budget without limit) is what was meant.
extension FixedWidthInteger {
    func adding(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    func subtracting(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
