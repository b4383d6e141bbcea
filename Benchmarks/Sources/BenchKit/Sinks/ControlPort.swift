internal import Foundation
internal import FoundationNetworking
internal import Synchronization

/// A plain HTTP port on this machine. Blocking.
struct ControlPort {
    let port: UInt16

    /// - Returns: the body; a status other than 200 is an error.
    func ask(_ method: String, _ path: String, _ body: String? = nil) throws -> Data {
        guard let url = URL(string: "http://127.0.0.1:\(port)\(path)") else {
            throw BenchError.failed("\(path) is no path")
        }
        var request = URLRequest(url: url, timeoutInterval: 30)
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        let answer = Answer()
        let arrived = DispatchSemaphore(value: 0)
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        session.dataTask(with: request) { data, response, error in
            let status = (response as? HTTPURLResponse)?.statusCode ?? 0
            answer.value.withLock { $0 = (data ?? Data(), status, error.map { "\($0)" } ?? "") }
            arrived.signal()
        }.resume()
        arrived.wait()
        let (data, status, error) = answer.value.withLock { $0 }
        guard status == 200 else {
            let said = String(decoding: data.prefix(500), as: UTF8.self)
            throw BenchError.failed("\(method) \(path): status \(status) \(said)\(error)")
        }
        return data
    }

    private final class Answer: Sendable {
        let value = Mutex((Data(), 0, ""))
    }
}
