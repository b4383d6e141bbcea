/// Something that performs sends and says what they cost.
protocol Contender {
    /// As it is called in the table and in the JSON.
    var name: String { get }
    var summary: String { get }
    /// One run, from a fresh start, of so many sends after its own warm-up. A slow one may do fewer, and says how many.
    func run(sends: Int) throws -> RunSample
}

/// What one run measured. Times are of the sends alone, without start-up and warm-up, except where it says otherwise.
struct RunSample: Codable, Equatable {
    var sends: Int
    /// Requests that did not end well at first; a worker sends them again.
    var failed = 0
    var wallSeconds: Double
    /// User and system time of the process that sends, or of all of them; nil where nothing is sent.
    var cpuSeconds: Double?
    /// CPU before the first counted send: start, connections, warm-up. nil where it is part of `cpuSeconds`.
    var startUpCPUSeconds: Double?
    var sinkCPUSeconds: Double?
    var redisCPUSeconds: Double?
    /// Of the largest process.
    var peakMemoryMegabytes: Double?
    /// What only this scenario measures, by the name of its ``Measure``.
    var figures: [String: Double] = [:]

    var cpuMicrosecondsPerSend: Double? { cpuSeconds.map { $0 * 1e6 / Double(sends) } }
    var sendsPerSecond: Double { Double(sends) / wallSeconds }
}
