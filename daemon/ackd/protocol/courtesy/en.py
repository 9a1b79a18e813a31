"""English courtesy: words and phrases only, no logic; `grammar` says how templates are read and compiles them.

Left out on purpose, since they say something: will do, on it, sure, yes, no, done, resolved, fixed, approved, go ahead,
good to go, all set, stand by, never mind, no thanks, thanks in advance, no issues, looking forward to your reply.
"""

from __future__ import annotations

from collections.abc import Mapping

SLOTS: Mapping[str, str] = {
    "thanks": """
        thanks | thank you | thank u | thankyou | thanx | thx | thnx | tnx | tks | ty | tysm | tyvm | many thanks |
        big thanks | huge thanks | special thanks | a big thank you | a big thanks | a huge thank you |
        with thanks | my thanks | thanks again | thank you again | thanks once again | thank you once again |
        thanks a lot | thanks lots | thanks so much | thanks very much | thanks a million | thanks a bunch |
        thanks a ton | thank you so much | thank you so very much | thank you very much | thank you kindly |
        thank you very much indeed
        """,
    "person": """
        {who} | all | everyone | everybody | team | the team | the whole team | all of you | you all | you both |
        both of you | you two | both | folks | guys | friends | colleagues | mate | buddy | friend | partner |
        everyone here | everyone involved | y'all
        """,
    "everyone": "all | everyone | here | channel | team",
    "more": "{comma?}and {person} | {comma?}& {person} | {comma}{person}",
    "whom": "{person}{more*}",
    "to_whom": "{whom} | to {whom}",
    "det": """
        the | your | all the | all your | all of your | all this | all that | this | that | these | such | such a |
        such an | a | an | everyone's | the team's | sharing the | sharing your | sharing this | providing the |
        providing this | providing such a | preparing the
        """,
    "degree": """
        very | really | so | super | extremely | truly | incredibly | quite | most | absolutely | especially |
        particularly | highly | very very | all | pretty | exceptionally | remarkably
        """,
    "adjective": """
        detailed | thorough | quick | fast | prompt | speedy | swift | clear | great | excellent | careful |
        comprehensive | insightful | helpful | hard | kind | kindest | continued | timely | good | nice |
        wonderful | amazing | awesome | fantastic | solid | in-depth | in depth | valuable | brilliant |
        outstanding | useful | deep | rigorous | concise | clean | constant | generous | smooth | high-quality |
        meticulous
        """,
    "adjectives": "{degree?}{adjective} | {degree?}{adjective}{comma} | {degree?}{adjective}{comma?}and",
    "noun": """
        analysis | analyses | update | updates | help | support | work | effort | efforts | reply | replies |
        response | responses | turnaround | confirmation | clarification | clarifications | explanation |
        explanations | detail | details | info | information | heads-up | heads up | summary | recap | report |
        feedback | input | inputs | insight | insights | review | time | patience | collaboration | cooperation |
        coordination | teamwork | contribution | contributions | reminder | note | notes | message | messages |
        thoroughness | diligence | dedication | breakdown | write-up | write up | writeup | guidance | advice |
        understanding | kindness | kind words | follow-up | follow up | overview | context | discussion |
        conclusion | conclusions | decision | final | hard work | synthesis | handover | answer | answers |
        acknowledgement | acknowledgment | trust | assistance | attention to detail | perspective | reasoning |
        documentation | research | job | strategy | correction | corrections | catch | pointer | pointers |
        suggestion | suggestions | recommendation | recommendations | recognition | call-out
        """,
    "more_noun": """
        and {adjectives*}{noun} | and your {adjectives*}{noun} | and the {adjectives*}{noun} | {comma}{noun}
        """,
    "gerund": """
        sharing | confirming | clarifying | explaining | replying | responding | waiting | letting me know |
        letting us know | everything | being so thorough | being so helpful | being so patient |
        getting back to me | getting back to us | getting back so quickly | acknowledging | understanding |
        helping | helping out | helping me | helping us | having me | reaching out | joining | your time |
        keeping me posted | keeping us posted | keeping me updated | keeping us updated | keeping me in the loop |
        keeping us in the loop | keeping everyone in the loop | keeping everyone posted | closing the loop |
        closing this out | wrapping this up | wrapping it up | wrapping things up | wrapping up
        """,
    "gerund_of": """
        sharing | confirming | clarifying | explaining | handling | organizing | organising | coordinating |
        leading | driving | catching | flagging | looking into | taking care of | helping with | putting together |
        pulling together | wrapping up | walking me through | walking us through | summarizing | summarising |
        noting | archiving | compiling | preparing | writing | posting
        """,
    "object": """
        this | that | it | these | everything | this so quickly | that so quickly | it so quickly | this together |
        it all
        """,
    "thing": """
        {det?}{adjectives*}{noun}{more_noun*}{tail?} | {gerund}{adverb?} | {gerund_of}{object} | {object}
        """,
    "adverb": "so quickly | so fast | so promptly | so clearly | in detail | promptly | quickly",
    "for_thing": """
        for {thing} | for {thing}{comma?}and for {thing} | for {thing}{comma?}and {gerund_of}{object}
        """,
    "tail": """
        on this | on this one | on that | on it | here | today | as always | as usual | so far | with this |
        throughout | again | all around | all round | indeed | together | on this topic | on this thread |
        this time | this round
        """,
    "it": """
        this is | that is | that's | thats | it's | it is | this was | that was | it was | what | such | these are |
        those are
        """,
    "article": "a | an",
    "fine": """
        helpful | useful | clear | insightful | thorough | detailed | impressive | great | awesome | excellent |
        perfect | amazing | fantastic | wonderful | brilliant | appreciated | much appreciated | well done |
        well written | well-written | well structured | well-structured | well reasoned | well-reasoned |
        well thought out | well organized | well organised | well explained | solid | comprehensive | convincing |
        easy to follow | spot on | on point | outstanding | rigorous | informative | valuable | lovely | nice |
        inspiring | kind of you | professional | concise
        """,
    "and_fine": "{comma?}and {degree?}{fine} | {comma}{degree?}{fine}",
    "praised": """
        analysis | logic | reasoning | structure | summary | explanation | write-up | writeup | breakdown | work |
        report | argument | conclusion | conclusions | synthesis | insight | insights | overview | teamwork |
        collaboration | presentation | thinking | recap | wording
        """,
    "is": "is | was | are | were",
    "super_adjective": """
        great | excellent | good | nice | amazing | awesome | fantastic | wonderful | solid | brilliant |
        outstanding | superb | terrific | stellar | impressive | incredible | lovely | exceptional | phenomenal |
        remarkable | insightful | thorough | helpful | useful
        """,
    "super_adjectives": """
        {degree?}{super_adjective} | {degree?}{super_adjective}{comma} | {degree?}{super_adjective}{comma?}and
        """,
    "their": "the | your | all the | all your | all of your | this | that | everyone's | the team's",
    "deed": """
        work | job | stuff | effort | efforts | catch | point | points | call | one | going | team effort |
        team work | turnaround | news | experience
        """,
    "noted": """
        got it | gotcha | got that | noted | duly noted | well noted | all noted | noted with thanks | received |
        well received | received with thanks | received and noted | received and understood | all received |
        understood | fully understood | well understood | all understood | acknowledged | acknowledging |
        fully acknowledged | noted and understood | understood and noted | acknowledged and noted |
        noted and acknowledged | received and acknowledged | acknowledged and understood | read and understood |
        ack | acked | roger | roger that | i see | i understand | we understand | i got it | loud and clear | seen |
        confirmed receipt | confirming receipt | receipt confirmed | acknowledging receipt | i acknowledge receipt |
        i confirm receipt | i've received it | i have received it | i received it | i've read it | i have read it |
        i've noted it | i've noted this | i have noted this | noted this | noted that | i've seen it |
        i've seen this
        """,
    "received": """
        received | got | noted | i've received | i have received | i received | we've received | seen | i've read |
        i have read
        """,
    "news": """
        message | messages | update | updates | final | conclusion | final conclusion | summary | note | notes |
        decision | final decision | analysis | final analysis | final summary | reminder | clarification |
        explanation | final answer | final update | details | broadcast
        """,
    "news_det": "the | your | this | that | all the | all your",
    "side": """
        on my end | on my side | at my end | from my end | from my side | from me | here | on our end |
        on our side | from our side | on all points | by me | with thanks
        """,
    "else": "else | further | more",
    "follow": """
        {will}keep that in mind{onward?} | {will}keep this in mind{onward?} | {will}keep it in mind{onward?} |
        {will}bear that in mind{onward?} | {will}bear this in mind{onward?} | {will}bear it in mind{onward?} |
        {will}remember that{onward?} | {will}remember this{onward?} | {will}follow this {onward} |
        {will}follow that {onward} | {will}follow it {onward} | {will}stick to this {onward} | noted for next time |
        noted for the future
        """,
    "will": "i'll | i will | we'll | we will | will",
    "onward": "going forward | from now on | in future | in the future | next time | from here on",
    "offer_when": """
        if you need anything | if you need anything else | if you need anything further | if you need me |
        if you need help | if you have any questions | if you have questions | if you have any other questions |
        if you have any further questions | if there are any questions | if anyone has questions |
        if anyone has any questions | if there's anything else you need | if there is anything else you need |
        if anything is needed | if needed | if you need more help | if i can help | if i can help further |
        if i can help with anything else | any time | anytime | whenever you need | whenever | whenever needed
        """,
    "offer_call": """
        let me know | just let me know | please let me know | feel free to reach out |
        please feel free to reach out | feel free to ask | feel free to ping me | feel free to contact me |
        reach out | just reach out | ping me | just ping me | call me | i'm here | i am here | here |
        happy to help | always happy to help | i'm happy to help | glad to help | don't hesitate to reach out |
        don't hesitate to ask | i'm available
        """,
    "again_what": """
        working together again | working together | working with you again | working with you |
        working with you all | working with you all again | working with everyone again |
        working with the team again | collaborating again | collaborating with you again | collaborating with you |
        our next collaboration | the next collaboration | future collaboration | future collaborations |
        the next one | the next round | next time | more collaboration | more of this | doing this again |
        teaming up again
        """,
    "fun": """
        a pleasure | great | a joy | an honor | an honour | my pleasure | our pleasure | nice | good | lovely |
        pleasure | always a pleasure
        """,
    "day": "day | one | evening | weekend | night | week | rest of your day | time | holiday",
    "day_kind": "great | good | nice | wonderful | lovely | productive",
    "nothing": """
        no questions | no further questions | no more questions | no other questions | no further comments |
        no comments | no more comments | no further input | nothing to add | nothing further to add |
        nothing more to add | nothing else to add | nothing further | i have nothing to add | i've nothing to add |
        i have no further questions | i have no questions | i have no further comments | i have nothing further |
        that's all | nothing else | nothing more | all clear and understood
        """,
    "no_need": """
        action | actions | reply | response | follow-up | follow up | steps | acknowledgement
        """,
    "aid": "help | support | work | hard work | effort | efforts | patience | time | collaboration | teamwork",
    "yep": "yep | yup | yeah",
    "reply": "reply | replies | response | answer | acknowledgement | follow-up | follow up",
    "my_side": "on my end | on my side | from my end | from my side | from me",
    "needed": """
        needed | required | necessary | is needed | is required | is necessary | are needed | are required
        """,
}

STRONG: Mapping[str, str] = {
    "thanks": """
        {thanks}{comma?}{to_whom?}{comma?}{for_thing?} | {thanks}{comma?}{for_thing}{comma?}{to_whom} |
        {thanks}{comma?}{to_whom}{comma?}for all {noun} | appreciate {object} |
        i {degree?} appreciate {object}{tail?} | we {degree?} appreciate {object}{tail?} |
        i {degree?} appreciate {their}{adjectives*}{noun}{more_noun*}{tail?} |
        we {degree?} appreciate {their}{adjectives*}{noun}{more_noun*}{tail?} |
        {degree?} appreciate the {adjectives*}{noun}{tail?} | {degree?} appreciate your {adjectives*}{aid}{tail?} |
        {degree}appreciate {object} | {degree}appreciated | much appreciated | appreciated | much obliged |
        greatly appreciated | i'm grateful | grateful for {thing} | so grateful for {thing} |
        kudos{comma?}{to_whom?}{for_thing?} | cheers{comma?}{whom?} | props{comma?}{to_whom?}{for_thing?} |
        credit to {whom}{for_thing?} | shout-out to {whom}{for_thing?} | shoutout to {whom}{for_thing?}
        """,
    "received, understood": """
        {noted}{side?} | {yep}{comma?}{noted}{side?} | {noted}{comma?}{whom} | {noted}{comma?}thanks to {whom} |
        {received}{news_det}{news}{side?} | {news} received{side?} | {news} noted{side?} | {news} well received |
        {news} received and understood | {news} received and noted | {news} acknowledged{side?} |
        acknowledged {news_det}{news} | understood {news_det}{news} | {noted},{follow} | {thanks},{follow} |
        confirmed | copy | copy that | copy that{comma}{whom} | fair enough | makes sense | that makes sense |
        makes sense to me | makes total sense | makes perfect sense | crystal clear | everything is clear |
        good to know | great to know | great to hear | good to hear | glad to hear it | glad to hear that |
        glad to hear
        """,
    "agreement that says no more than ok": """
        ok | okay | okey | okie | okie dokie | okey dokey | okey-dokey | okayy | okk | okok | oki | k | kk |
        ok then | okay then | alright | all right | alrighty | sounds good | sounds good to me | sounds great |
        sounds perfect | sounds excellent | that sounds good | that sounds great | couldn't agree more |
        100% agree | 100% agreed | i 100% agree | great | perfect | excellent | cool | nice | awesome | amazing |
        wonderful | fantastic | brilliant | superb | splendid | terrific | lovely | sweet | neat | outstanding |
        impressive | yay | thumbs up | high five | hooray | hurray | woohoo | woo hoo | bravo | good | very good |
        very nice | so good | great stuff | +1
        """,
    "praise": """
        {super_adjectives+}{deed}{tail?}{comma?}{whom?} | {super_adjectives+}{deed}{comma?}{whom}{tail?} |
        {super_adjectives+}{praised}{tail?}{comma?}{whom?} |
        {it}{article?}{super_adjectives+}{deed}{tail?}{comma?}{whom?} |
        {it}{article?}{super_adjectives+}{praised}{tail?}{comma?}{whom?} | {it}{degree?}{fine}{and_fine*}{tail?} |
        {degree}{fine}{and_fine*} | {fine}{and_fine+} | {det}{adjectives*}{praised}{is}{degree?}{fine}{and_fine*} |
        helpful | insightful | spot on | well done{comma?}{whom?} | well said | well put |
        nicely done{comma?}{whom?} | well played{comma?}{whom?} | nailed it | you nailed it |
        way to go{comma?}{whom?} | congrats{comma?}{to_whom?} | congratulations{comma?}{to_whom?} |
        hats off{comma?}{to_whom?} | you rock | you're the best | you are the best | you're awesome |
        you're amazing | go team | keep it up | keep up the {adjectives*}work | that helps | that helps a lot |
        this helps | this helps a lot | that really helps | i learned a lot | learned a lot | i've learned a lot |
        we learned a lot | i learned a lot from this | learned a lot from this | i learned so much |
        learned so much | love it | i love it | haha | hahaha | hehe | lol
        """,
    "you are welcome": """
        you're welcome{comma?}{whom?} | you are welcome{comma?}{whom?} | you're very welcome{comma?}{whom?} |
        you're most welcome{comma?}{whom?} | you are very welcome{comma?}{whom?} | youre welcome | ur welcome |
        most welcome | yw | np | nw | no prob | no probs | {opens}no problem{comma?}{whom?}{closes} |
        {opens}no problem{comma?}{thanks}{comma?}{whom?} | {opens}no problem at all{comma?}{whom?}{closes} |
        no worries{comma?}{whom?} | no worries at all | {opens}not a problem{closes} |
        {opens}not a problem at all{closes} | my pleasure{comma?}{whom?} | our pleasure | pleasure |
        the pleasure is mine | the pleasure was mine | the pleasure is all mine | don't mention it |
        anytime{comma?}{whom?} | any time | likewise{comma?}{whom?} | same to you | you too{comma?}{whom?} |
        and you too | glad i could help | glad it helped | glad that helped | glad this helped |
        glad it was helpful | glad it was useful | glad you liked it | glad you found it helpful |
        glad you found it useful | i'm glad it helped | glad to help | glad to be of help | glad to be of service |
        glad to have helped | always happy to help{comma?}{whom?} | happy to have helped | happy to be of help |
        happy to contribute | happy to collaborate again | happy to work together again |
        happy to work with you again
        """,
    "standing by, nothing more to say": """
        standing by{side?} | on standby{side?} | on stand-by | i'm standing by | i am standing by | i'll stand by |
        i'll be standing by | i'm on standby | standing by for further instructions |
        standing by for any further instructions | standing by for new instructions | standing by for new tasks |
        standing by for the next task | standing by for further tasks | standing by if needed |
        standing by{comma?}if you need anything{else?} | {opens}{nothing}{side?}{closes} |
        {opens}no further {no_need}{needed}{side?}{closes} | {opens}no {reply}{needed}{side?}{closes} |
        {opens}no action {needed}{my_side}{closes} | no need to reply | no need to respond | no need to answer |
        no need for a reply
        """,
    "offers of help": """
        {offer_call}{comma?}{offer_when} | {offer_when}{comma?}{offer_call} | feel free to reach out |
        feel free to ask | i'm here to help | here to help | always here to help
        """,
    "farewells": """
        looking forward to {again_what} | i look forward to {again_what} | we look forward to {again_what} |
        i'm looking forward to {again_what} | looking forward to it | hope to work with you again |
        hope to work together again | {fun}{tail?} working with {whom} | {fun} working with you{tail?} |
        {fun} working together{tail?} | it was {fun} working with you{comma?}{whom?} |
        it was {fun} working with {whom} | it's been {fun} working with {whom} | it's been {fun} working with you |
        it was a pleasure | it's been a pleasure | always a pleasure | enjoyed working with you{comma?}{whom?} |
        enjoyed working with {whom} | {fun} to work with {whom} | glad we could work together |
        glad to be part of this | glad to be part of the team | have a {day_kind}{day}{comma?}{whom?} |
        enjoy your {day} | take care{comma?}{whom?} | until next time | see you | see you next time |
        see you in the next round | see you around | talk soon | talk to you soon | bye | bye bye | goodbye |
        good night | best regards{comma?}{whom?} | kind regards{comma?}{whom?} | regards{comma?}{whom?} |
        sincerely{comma?}{whom?} | excited to work together again | excited to work with you again |
        can't wait to work together again | can't wait to work with you again | all the best | best wishes
        """,
}

ALONE = "welcome"

WEAK = """
    clear | best | and | also | again | oh | ah | wow | hi{comma?}{whom?} | hello{comma?}{whom?} |
    hey{comma?}{whom?} | dear {whom} | {who}{comma} | good morning{comma?}{whom?} | good afternoon{comma?}{whom?} |
    good evening{comma?}{whom?} | agreed | i agree | fully agree | totally agree | fully agreed | lgtm |
    looks good | looks good to me | looks great | looks great to me | {opens}no objections{closes} |
    {opens}no objection{closes} | {opens}no objections from me{closes} | fine | all good{my_side?} |
    happy to help{comma?}{whom?} | i'm happy to help
"""

BELOW_QUOTE = """
    already done,{thanks} | already done,{thanks}{comma?}{whom} | {thanks},already done |
    this is already done,{thanks} | that's already done,{thanks} | that is already done,{thanks} |
    it's already done,{thanks} | already handled,{thanks} | already sorted,{thanks} |
    already taken care of,{thanks}
"""

FOLD = ""
