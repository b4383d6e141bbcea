internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel

/// `POST /v1/projects/{p}/messages:send`.
struct V1Route: Sendable {
    let sends: SendRoute

    /// See ``SendRoute/send(_:_:answer:reply:)``.
    func begin(_ call: SendCall, _ reply: @escaping @Sendable (GatewayReply) -> Void) -> @Sendable () -> Void {
        func end(_ answer: ServedAnswer) -> @Sendable () -> Void { GatewayReply(answer).end(reply) }
        if let refusal = call.request.bodyRefusal(V1Request.maximumBytes) { return end(refusal.v1Answer) }
        let wanted: RequestedSend
        do throws(V1Fault) {
            let message = try V1Request(call.request.body)
            wanted = RequestedSend(
                kind: message.kind,
                recipients: [message.recipient],
                message: message.message,
                format: .v1,
                validateOnly: message.validateOnly,
                options: try sends.options(call.request, call.key)
            )
        } catch {
            return end(V1Answer.fault(error))
        }
        return sends.send(wanted, call, answer: Self.answers(call.project), reply: reply)
    }

    /// Makes the answer of a request to a project.
    private static func answers(_ project: String) -> @Sendable (SendRoute.End) -> ServedAnswer {
        { end in
            switch end {
            case .fault(let fault):
                let isID = fault.path == "id"
                return V1Answer.fault(isID ? V1Fault(shape: "Idempotency-Key", fault.rule) : V1Fault(fault))
            case .refused(let refusal): return refusal.v1Answer
            case .answered(let answer): return answer
            case .results(let place, let results):
                let result = results.first ?? nil
                guard let result else { return V1Answer.deferred(project: project, job: place.job) }
                return V1Answer.result(result, project: project, job: place.job)
            case .rejected(let job, let problem): return V1Answer.rejected(problem, job: job)
            case .unknown(let job): return V1Answer.unconfirmed(job: job)
            }
        }
    }
}

/// `POST /fcm/send` and `/gcm/send`: the protocol that Google switched off in 2024.
struct LegacyRoute: Sendable {
    let sends: SendRoute
    static var maximumBytes: Int { 1_048_576 }

    /// See ``SendRoute/send(_:_:answer:reply:)``.
    func begin(_ call: SendCall, _ reply: @escaping @Sendable (GatewayReply) -> Void) -> @Sendable () -> Void {
        func end(_ answer: ServedAnswer) -> @Sendable () -> Void { GatewayReply(answer).end(reply) }
        let request = call.request
        if let refusal = request.bodyRefusal(Self.maximumBytes) { return end(refusal.legacyAnswer) }
        var message: LegacyRequest
        do throws(LegacyFault) {
            message = try LegacyRequest(request.body, contentType: request.headers["content-type"])
        } catch {
            return end(error.answer)
        }
        let options: SendOptions
        do throws(V1Fault) { options = try sends.options(request, call.key) } catch {
            return end(message.refused(error.message))
        }
        let wanted = RequestedSend(
            kind: message.kind,
            recipients: message.recipients,
            message: message.message,
            format: .legacy,
            validateOnly: message.validateOnly,
            options: options
        )
        message.message = []
        return sends.send(wanted, call, answer: Self.answers(message)) { [ignored = message.ignored] ended in
            var ended = ended
            // Google ignored them, too; a request that is answered again has the header already.
            let header = ServedAnswer.Header("X-Fanfare-Ignored", ignored.joined(separator: ", "))
            if !ignored.isEmpty, !ended.answer.headers.contains(header) { ended.answer.headers.append(header) }
            reply(ended)
        }
    }

    private static func answers(_ message: LegacyRequest) -> @Sendable (SendRoute.End) -> ServedAnswer {
        { end in
            switch end {
            case .fault(let fault): return message.refused(fault.reason)
            case .refused(let refusal): return refusal.legacyAnswer
            case .answered(let answer): return answer
            case .results(let place, let results):
                return LegacyAnswer(to: message, job: place.job, firstIndex: place.indices.lowerBound).answer(results)
            case .rejected(let job, let problem): return LegacyAnswer(to: message, job: job).rejected(problem)
            // After a 5xx clients send to all tokens again; the job may be in Redis.
            case .unknown(let job):
                return LegacyAnswer(to: message, job: job).answer(message.recipients.map { _ in nil })
            }
        }
    }
}

extension WebRequest {
    /// Why the body was not read; nil if it was.
    ///
    /// - Parameter maximumBytes: of the body, for the refusal.
    func bodyRefusal(_ maximumBytes: Int) -> GatewayError? {
        if isBodyTooLarge { return .tooLarge(maximumBytes: maximumBytes) }
        // Clients that were refused together do not come back together.
        if isMemoryFull {
            return .unavailable("Too many large requests at once.", retryAfterMs: .random(in: 1_000...3_000))
        }
        if let bodyFault { return .malformedBody(bodyFault) }
        let isPlain = headers["content-encoding"].map { $0.lowercased() == "identity" } ?? true
        return isPlain ? nil : .mediaType
    }
}
