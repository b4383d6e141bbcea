internal import HTTPLanes

/// Transfers between two requests, and what all transfers of a pool share. Loop-confined.
final class TransferStore {
    private let configuration: OriginConfiguration
    private let trust: TrustStore
    private let share = ConnectionShare()
    private var idle: [Transfer] = []
    private var headers: HeaderList?

    init(configuration: OriginConfiguration) {
        self.configuration = configuration
        trust = TrustStore(privateFile: configuration.caFile)
    }

    /// Returns an idle transfer or makes one; nil when memory is short.
    func next() -> Transfer? {
        idle.popLast() ?? Transfer(configuration: configuration, trust: trust, share: share)
    }

    /// Keeps a transfer that has left its lane for the next request.
    func recycle(_ transfer: Transfer) { idle.append(transfer) }

    /// Header lines in libcurl's form: the list of the last request when the lines are the same.
    func headerList(_ lines: [String]) -> HeaderList {
        if let headers, headers.headers == lines { return headers }
        let list = HeaderList(lines)
        headers = list
        return list
    }

    /// After every transfer has been recycled.
    func close() {
        for transfer in idle { transfer.close() }
        idle = []
        headers = nil
        share.close()
    }
}
