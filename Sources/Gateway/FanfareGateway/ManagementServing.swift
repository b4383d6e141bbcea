internal import FanfareClient
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareModel

/// Google's paths for topics and device groups; see ``ManagementRoute``.
struct ManagementServing: Sendable {
    let sends: SendRoute

    /// See ``SendRoute/send(_:_:answer:reply:)``.
    func begin(
        _ sendCall: SendCall,
        _ route: ManagementRoute,
        _ reply: @escaping @Sendable (GatewayReply) -> Void
    ) -> @Sendable () -> Void {
        func end(_ answer: ServedAnswer) -> @Sendable () -> Void { GatewayReply(answer).end(reply) }
        let (request, project) = (sendCall.request, sendCall.project)
        if let cause = request.bodyRefusal(LegacyRoute.maximumBytes) {
            return end(ManagementAnswer.refusal(cause, route: route))
        }
        let call: ManagementCall
        do throws(EntryFault) {
            call = try ManagementCall(route, method: request.method, query: request.queryText, body: request.body)
        } catch {
            return end(ManagementAnswer.fault(error, route: route))
        }
        guard let operation = call.operation else {
            return end(ManagementAnswer.results([], of: call, project: project, job: nil))
        }
        let options: SendOptions
        do throws(V1Fault) { options = try sends.options(request, sendCall.key) } catch {
            return end(ManagementAnswer.fault(EntryFault(error.path, error.rule), route: route))
        }
        let (job, recipients) = operation.job
        let wanted = RequestedSend(
            kind: recipients.isEmpty ? .group : .token,
            recipients: recipients.isEmpty ? [""] : recipients,
            message: [],
            format: .v1,
            validateOnly: false,
            job: PreparedJob(job),
            options: options
        )
        return sends.send(wanted, sendCall, answer: Self.answers(call, recipients, project), reply: reply)
    }

    private static func answers(
        _ call: ManagementCall,
        _ recipients: [String],
        _ project: String
    ) -> @Sendable (SendRoute.End) -> ServedAnswer {
        let route = call.route
        return { end in
            switch end {
            case .fault(let fault): return ManagementAnswer.fault(fault, route: route)
            case .refused(let cause): return ManagementAnswer.refusal(cause, route: route)
            case .answered(let answer): return answer
            case .results(let place, let results):
                return ManagementAnswer.results(results, of: call, project: project, job: place.job)
            case .rejected(let job, let problem):
                return ManagementAnswer.rejected(problem, route: route, job: job)
            case .unknown(let job):
                return ManagementAnswer.results(recipients.map { _ in nil }, of: call, project: project, job: job)
            }
        }
    }
}

extension ManagementOperation {
    /// The job, and the tokens that get a result each; none for an operation on a group, which has one result.
    fileprivate var job: (job: PushJob, recipients: [String]) {
        switch self {
        case .subscribe(let tokens, let topic): (.subscribe(tokens, to: topic), tokens)
        case .unsubscribe(let tokens, let topic): (.unsubscribe(tokens, from: topic), tokens)
        case .listTopics(let token): (.topics(of: [token]), [token])
        case .createGroup(let name, let members): (.createGroup(name, members: members), [])
        case .add(let members, let name, let key): (.add(members, toGroup: name, key: key), [])
        case .remove(let members, let name, let key): (.remove(members, fromGroup: name, key: key), [])
        case .getGroup(let name): (.getGroup(name), [])
        }
    }
}
