package import FanfareModel

/// Makes connections to one origin with one HTTP library. ``LanePool`` decides, an engine performs. Loop-confined.
package protocol LaneEngine: AnyObject {
    /// Whether a connection is only made once it has a request.
    var connectsForRequest: Bool { get }
    /// Makes a lane's connection; nil when memory is short.
    ///
    /// - Parameter origin: `https://host[:port]`, in lower case.
    func connect(_ lane: Lane, to origin: String) -> (any LaneConnection)?
    /// Frees what the connections shared. The last call, after every connection was closed.
    func close()
}

/// One connection of an engine. It carries the requests of one ``Lane``, each under the lane's number for it.
///
/// A request ends once: with ``nextEnd()`` or with ``cancel(_:reason:as:)``. Its number is free from then on. An engine
/// never calls the pool from within these functions; it calls ``Lane/enlist()`` when it needs a ``pump()``.
package protocol LaneConnection: AnyObject {
    /// Takes a request. It leaves with the next ``pump()`` and ``flush()``, or later if the server allows no more streams.
    ///
    /// - Returns: false when the library did not take it; it then counts as never submitted.
    func submit(_ request: HTTPRequest, number: Int) -> Bool
    /// Reads what has arrived, and runs the library while it has work.
    func pump()
    /// Removes and returns a request that has ended by itself; nil when there is none. If the connection has ended, or
    /// the library cannot continue, it returns all requests one after the other.
    func nextEnd() -> (number: Int, end: RequestEnd)?
    /// Sends what was written since the last call.
    func flush()
    /// Ends a request that has not ended by itself.
    ///
    /// - Parameters:
    ///   - reason: why, for the outcome.
    ///   - ending: what that shows about the lane.
    func cancel(_ number: Int, reason: Reason, as ending: LaneState.Ending) -> RequestEnd
    /// Requests that the library has begun to send and that have not ended.
    var running: Int { get }
    /// Bytes that the answers' bodies take, of requests that have not ended.
    var heldBytes: Int { get }
    /// The request that holds most of ``heldBytes``, and its share; nil if there are none.
    var largestAnswer: (number: Int, bytes: Int)? { get }
    /// Whether the library has written nothing of a request, so that it may be taken back.
    func isHeldBack(_ number: Int) -> Bool
    /// Called every 100 ms while the pool holds requests.
    func tick(nowMs: Int64)
    /// Closes the connection. The last call, after every request has ended.
    func close()
}
