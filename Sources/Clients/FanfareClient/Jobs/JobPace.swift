/// A job's pace over its last seconds, as its hash holds it: `<from> <tried> <middle> <tried> <last>`.
///
/// `record` writes it with the counters, so every reader of a hash finds the same pace. It begins where the job last stood
/// still, for a pause, its canary or its window, and reaches back some seconds, or a hundred recipients, or a minute.
struct JobPace: Equatable, Sendable {
    /// Recipients that were tried within a time.
    struct Span: Equatable, Sendable {
        var tried: Int64
        var seconds: Double
    }

    /// The beginning, a later moment, and the last result, Unix milliseconds.
    var fromMs: Int64
    var middleMs: Int64
    var lastMs: Int64
    /// How many recipients had been tried at the beginning, and at the later moment.
    var triedFrom: Int64
    var triedMiddle: Int64

    /// nil for a text of another form.
    init?(_ text: String) {
        let parts = text.split(separator: " ").map { Int64($0) }
        guard parts.count == 5, let from = parts[0], let triedFrom = parts[1], let middle = parts[2],
            let triedMiddle = parts[3], let last = parts[4], (0...middle).contains(from),
            (middle...max(middle, 99_999_999_999_999)).contains(last), triedFrom >= 0, triedMiddle >= triedFrom
        else { return nil }
        (fromMs, middleMs, lastMs) = (from, middle, last)
        (self.triedFrom, self.triedMiddle) = (triedFrom, triedMiddle)
    }

    /// - Parameter tried: recipients that have been tried by now.
    func whole(_ tried: Int64) -> Span {
        Span(tried: max(0, tried - triedFrom), seconds: Double(lastMs - fromMs) / 1_000)
    }

    /// The later part, once it is long enough to say something.
    func recent(_ tried: Int64) -> Span {
        let span = Span(tried: max(0, tried - triedMiddle), seconds: Double(lastMs - middleMs) / 1_000)
        return span.seconds >= 1.5 && span.tried >= 100 ? span : whole(tried)
    }
}
