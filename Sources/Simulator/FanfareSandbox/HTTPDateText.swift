internal import FanfareModel

/// The text of the `date` header, made once a second; confined to one event loop.
final class HTTPDateText {
    private var second: Int64 = -1
    private var text = ""

    func now() -> String {
        let current = SimulatorHost.unixMilliseconds() / 1_000
        if current != second {
            second = current
            text = HTTPDate.text(unixMs: current * 1_000)
        }
        return text
    }
}
